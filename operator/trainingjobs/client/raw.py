"""The API server by paths: for what has no kind, and for a container's log from any moment on.

lightkube's own log takes no `sinceTime`, and ends lines at more than their ends.
"""

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any

import httpx2
from lightkube.config import client_adapter
from lightkube.config.kubeconfig import SingleConfig

from trainingjobs.client import transport
from trainingjobs.client.containers import name
from trainingjobs.client.job import Manifest

if TYPE_CHECKING:  # else every command would load it
    from contextlib import AbstractAsyncContextManager

    from httpx2.websockets import AsyncWebSocketSession

_LARGEST = 1_048_576
"""Bytes of a message that a WebSocket brings."""


class Raw:
    """Requests and streams."""

    def __init__(self, config: SingleConfig, way: httpx2.AsyncBaseTransport) -> None:
        self._config, self._way = config, way
        self._http: httpx2.AsyncClient | None = None

    async def close(self) -> None:
        """Close all connections."""
        if self._http is not None:
            await self._http.aclose()

    async def get(self, path: str, **params: str) -> Manifest:
        """What is there.

        Raises:
            httpx2.HTTPError: when nothing is, or it may not be read.
        """
        return self._body(await self._client().get(path, params=params))

    async def metadata(self, path: str) -> Manifest:
        """Who it is, without what is in it: a secret stays where it is."""
        kind = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
        return self._body(await self._client().get(path, headers={"Accept": kind}))

    async def post(self, path: str, body: Manifest) -> Manifest:
        """What comes of it."""
        return self._body(await self._client().post(path, json=body))

    async def log(
        self, pod: Manifest, *, since: str = "", follow: bool = False, tail: int | None = None
    ) -> AsyncGenerator[bytes, None]:
        """What the pod's training container has written.

        Raises:
            httpx2.HTTPError: when it cannot be read, or the stream breaks.
        """
        asked = {
            "timestamps": "true",
            "container": name(pod),
            "sinceTime": since,
            "follow": "true" if follow else "",
            "tailLines": "" if tail is None else str(tail),
        }
        seconds = httpx2.Timeout(transport.SECONDS, read=None if follow else transport.SECONDS)
        params = {name: text for name, text in asked.items() if text}
        path = f"{_path(pod)}/log"
        async with self._client().stream("GET", path, params=params, timeout=seconds) as answer:
            if answer.is_error:
                await answer.aread()
            answer.raise_for_status()
            async for data in answer.aiter_bytes():
                yield data

    def websocket(
        self, path: str, protocol: str, **params: str
    ) -> "AbstractAsyncContextManager[AsyncWebSocketSession]":
        """A WebSocket that speaks this sub-protocol; TCP notices when its other end is lost."""
        return self._client().websocket(
            path,
            subprotocols=[protocol],
            params=params,
            max_message_size_bytes=_LARGEST,
            keepalive_ping_interval_seconds=None,
        )

    async def pod(self, pod: Manifest) -> Manifest | None:
        """The same pod now; None where it is gone."""
        answer = await self._client().get(_path(pod))
        if answer.status_code == httpx2.codes.NOT_FOUND:
            return None
        found = self._body(answer)
        return found if found["metadata"]["uid"] == pod["metadata"]["uid"] else None

    def _body(self, answer: httpx2.Response) -> Manifest:
        answer.raise_for_status()
        try:
            found: Any = answer.json()
        except ValueError as error:
            raise httpx2.DecodingError(f"no JSON: {error}", request=answer.request) from error
        return dict(found)

    def _client(self) -> httpx2.AsyncClient:
        if self._http is None:
            params = client_adapter.ConnectionParams(timeout=httpx2.Timeout(transport.SECONDS))
            params.transport = self._way  # type: ignore[assignment]
            self._http = client_adapter.AsyncClient(self._config, params)
        return self._http


def _path(pod: Manifest) -> str:
    metadata = pod["metadata"]
    return f"api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
