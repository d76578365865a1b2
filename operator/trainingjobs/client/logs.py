"""One container's log as a stream of bytes, from any moment on.

lightkube's own takes no `sinceTime`, and ends lines at more than their ends.
"""

from collections.abc import AsyncGenerator

import httpx2
from lightkube.config import client_adapter
from lightkube.config.kubeconfig import SingleConfig

from trainingjobs.client.job import Manifest
from trainingjobs.model import labels

_SECONDS = 10.0


class Logs:
    """Opens streams; as many at a time as are asked for."""

    def __init__(self, config: SingleConfig) -> None:
        self._config = config
        self._http: httpx2.AsyncClient | None = None

    async def close(self) -> None:
        """Close all streams."""
        if self._http is not None:
            await self._http.aclose()

    async def read(
        self, pod: Manifest, *, since: str = "", follow: bool = False, tail: int | None = None
    ) -> AsyncGenerator[bytes, None]:
        """What the pod's training container has written.

        Raises:
            httpx2.HTTPError: when it cannot be read, or the stream breaks.
        """
        metadata = pod["metadata"]
        asked = {
            "timestamps": "true",
            "container": container(pod),
            "sinceTime": since,
            "follow": "true" if follow else "",
            "tailLines": "" if tail is None else str(tail),
        }
        limits = httpx2.Timeout(_SECONDS, read=None if follow else _SECONDS)
        path = f"api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/log"
        params = {name: text for name, text in asked.items() if text}
        stream = self._client().stream("GET", path, params=params, timeout=limits)
        async with stream as answer:
            if answer.is_error:
                await answer.aread()
            answer.raise_for_status()
            async for data in answer.aiter_bytes():
                yield data

    async def pod(self, pod: Manifest) -> Manifest | None:
        """The same pod now; None where it is gone."""
        metadata = pod["metadata"]
        path = f"api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
        answer = await self._client().get(path)
        if answer.status_code == httpx2.codes.NOT_FOUND:
            return None
        answer.raise_for_status()
        found: Manifest = answer.json()
        return found if found["metadata"]["uid"] == metadata["uid"] else None

    def _client(self) -> httpx2.AsyncClient:
        if self._http is None:
            config = self._config
            verify = client_adapter.verify_cluster(config.cluster, config.user, config.abs_file)  # type: ignore[arg-type]
            wide = httpx2.AsyncHTTPTransport(verify=verify, limits=httpx2.Limits())
            params = client_adapter.ConnectionParams(timeout=httpx2.Timeout(_SECONDS))
            params.transport = wide  # type: ignore[assignment]
            self._http = client_adapter.AsyncClient(config, params)
        return self._http


def container(pod: Manifest) -> str:
    """The name of the pod's training container."""
    notes = pod["metadata"].get("annotations") or {}
    return str(notes.get(labels.CONTAINER) or pod["spec"]["containers"][0]["name"])


def state(pod: Manifest) -> str:
    """`waiting`, `running` or `terminated`, of the training container."""
    name = container(pod)
    found = (pod.get("status") or {}).get("containerStatuses") or []
    states = next((item.get("state") or {} for item in found if item["name"] == name), {})
    return next(iter(states), "waiting")
