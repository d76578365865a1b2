"""The few requests that starting a cluster takes.

Calling kubectl for each of them costs a quarter of a second apiece; the standard
library asks in a few milliseconds.
"""

import dataclasses
import json
import pathlib
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any, Final

from localcluster import errors, places

SERVER: Final = f"https://127.0.0.1:{places.API_PORT}"
TIMEOUT: Final = 10
CONFLICT: Final = 409


@dataclasses.dataclass(frozen=True, slots=True)
class Api:
    """The API server, seen with the administrator's certificate."""

    pki: pathlib.Path

    def ready(self) -> bool:
        """Whether the API server says that it is ready."""
        return self._answers("/readyz")

    def nodes(self) -> dict[str, bool]:
        """Each node by name, and whether it is ready."""
        try:
            listed = self._ask("/api/v1/nodes")
        except OSError:
            return {}
        return {item["metadata"]["name"]: _is_ready(item) for item in listed["items"]}

    def has_default_account(self) -> bool:
        """Whether pods can be made in the default namespace already."""
        return self._answers("/api/v1/namespaces/default/serviceaccounts/default")

    def serves(self, version: str, resource: str) -> bool:
        """Whether an API version has this resource."""
        try:
            listed = self._ask(f"/apis/{version}")
        except OSError:
            return False
        return any(item["name"] == resource for item in listed["resources"])

    def create(self, path: str, manifest: Mapping[str, Any]) -> None:
        """Create an object; one that is there already is left as it is."""
        try:
            self._ask(path, manifest)
        except urllib.error.HTTPError as refused:
            if refused.code != CONFLICT:
                raise errors.ClusterError(f"{path}: {refused.read().decode()}") from refused

    def _answers(self, path: str) -> bool:
        try:
            self._open(path).close()
        except OSError:
            return False
        return True

    def _ask(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        with self._open(path, body) as answer:
            return json.load(answer)

    def _open(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        context = ssl.create_default_context(cafile=str(self.pki / "ca.crt"))
        context.load_cert_chain(self.pki / "admin.crt", self.pki / "admin.key")
        content = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(  # noqa: S310 - always our own https server
            SERVER + path, content, {"Content-Type": "application/json"}
        )
        direct = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
        )
        return direct.open(request, timeout=TIMEOUT)


def _is_ready(node: Mapping[str, Any]) -> bool:
    conditions = node.get("status", {}).get("conditions", [])
    return any(found["type"] == "Ready" and found["status"] == "True" for found in conditions)
