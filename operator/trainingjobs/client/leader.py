"""The operator's replica that leads: where it is, and a token that opens its HTTP service."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import httpx2

from trainingjobs.client.errors import (
    ClientError,
    NotInstalledError,
    RefusedError,
    UnreachableError,
)
from trainingjobs.client.failures import code_of, translated
from trainingjobs.client.home import USUAL, Home
from trainingjobs.client.job import Manifest
from trainingjobs.client.raw import Raw
from trainingjobs.client.tunnel import Target
from trainingjobs.model import labels

PORT = "rollcall"
"""The name of the container's port for reports, and for all that people may ask."""
_SECONDS = 600
"""How long a token lasts, where nobody says: the shortest that the API server makes."""


@dataclass(frozen=True, slots=True)
class Leader:
    """The pod that leads."""

    target: Target
    account: str
    """Its service account, as `NAMESPACE/NAME`."""


class Operator:
    """The operator that serves a namespace."""

    def __init__(
        self, raw: Raw, namespace: str, say: Callable[[str], None] = lambda _: None
    ) -> None:
        """Look nowhere yet.

        Args:
            raw: the way to the API server.
            namespace: of the jobs.
            say: told which pod is asked, once, where that is in no usual place.
        """
        self._raw, self._namespace = raw, namespace
        self._home = Home(raw)
        self._say: Callable[[str], None] | None = say

    async def target(self) -> Target:
        """Where its HTTP service is."""
        return (await self.leader()).target

    async def leader(self) -> Leader:
        """The pod that leads now.

        Raises:
            ClientError: when there is none, or one may not look.
        """
        pods = await self._home.pods()
        where = pods[0]["metadata"]["namespace"]
        serving = [pod for pod in pods if _serves(pod, self._namespace)]
        if not serving:
            words = f"the operator in {where} does not serve {self._namespace}"
            raise NotInstalledError(f"{words}: add it to the chart's value namespaces")
        leading = [pod for pod in serving if _leads(pod)]
        if not leading:
            words = f"no replica of the operator in {where} leads now: try again in some seconds"
            raise UnreachableError(f"{words}, or see `kubectl -n {where} get pods`")
        found = _leader(leading[0])
        if self._say is not None and where != USUAL:
            self._say(f"The operator is pod {found.target.pod} in {where}.")
            self._say = None
        return found

    async def token(self, account: str = "", seconds: int = _SECONDS) -> str:
        """A token that opens the operator's HTTP service, and nothing else.

        Args:
            account: whose rights it has, as `NAME` or `NAMESPACE/NAME`; else the operator's own.
            seconds: how long it lasts.

        Raises:
            ClientError: when one may not make it.
        """
        whose = account or (await self.leader()).account
        namespace, _, name = whose.rpartition("/")
        path = f"api/v1/namespaces/{namespace or self._namespace}/serviceaccounts/{name}/token"
        asked = {"audiences": [labels.STATUS_AUDIENCE], "expirationSeconds": seconds}
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": asked}
        try:
            answer = await self._raw.post(path, body)
        except httpx2.HTTPError as error:
            if code_of(error) == httpx2.codes.FORBIDDEN:
                raise _no_token(namespace or self._namespace, name) from error
            raise translated(error) from error
        return str(answer["status"]["token"])


def _no_token(namespace: str, name: str) -> ClientError:
    words = f"you may not make a token for the account {name} of {namespace}"
    advice = "name one of your namespace that may get TrainingJobs with --account"
    right = f"`create` on `serviceaccounts/token` in {namespace}"
    return RefusedError(f"{words}: {advice}, or ask who runs the cluster for {right}")


def _serves(pod: Manifest, namespace: str) -> bool:
    env = {item["name"]: item.get("value") for item in _container(pod).get("env") or []}
    listed = str(env.get("TRAININGJOBS_NAMESPACES") or "").replace(",", " ").split()
    return not listed or namespace in listed


def _leads(pod: Manifest) -> bool:
    metadata = pod["metadata"]
    led = (metadata.get("labels") or {}).get(labels.LEADER) == "true"
    return led and "deletionTimestamp" not in metadata


def _leader(pod: Manifest) -> Leader:
    metadata, spec = pod["metadata"], pod["spec"]
    ports = {item.get("name"): item["containerPort"] for item in _container(pod).get("ports") or []}
    if PORT not in ports:
        words = f"the operator in {metadata['namespace']} has no HTTP service"
        raise ClientError(f"{words}: the chart's rollCall.enabled is off there")
    account = f"{metadata['namespace']}/{spec.get('serviceAccountName') or 'default'}"
    return Leader(Target(metadata["namespace"], metadata["name"], int(ports[PORT])), account)


def _container(pod: Manifest) -> Manifest:
    """The operator's own container: what a mesh puts into the pod comes beside it."""
    found: Sequence[Manifest] = pod["spec"]["containers"]
    return next((item for item in found if item.get("name") == "operator"), found[0])
