"""The smallest API server that the executor needs: names, versions, and refusals on demand."""

import copy
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from trainingjobs.cluster import paths
from trainingjobs.cluster.errors import ApiError

Json = dict[str, Any]
Refuse = Callable[[str, str], ApiError | None]


class FakeApi:
    """Objects by path; every request is kept in `calls`."""

    def __init__(self) -> None:
        self.objects: dict[str, Json] = {}
        self.calls: list[tuple[str, str]] = []
        self.bodies: list[Json] = []
        self.refuse: Refuse = lambda _method, _path: None
        self.admit: Callable[[Json], Json] = lambda changed: changed
        """What webhooks make of an object that was changed."""
        self.revision = 100
        self.serves: set[str] = set()
        """Paths of API versions that have pod groups."""

    @property
    def writes(self) -> list[tuple[str, str]]:
        """All requests but the reading ones."""
        return [call for call in self.calls if call[0] != "GET"]

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Json | None = None,
        metadata_only: bool = False,
    ) -> Json:
        """The answer of a server that stores what it is given."""
        self.calls.append((method, path))
        self.bodies.append(copy.deepcopy(body or {}))
        refused = self.refuse(method, path)
        if refused is not None:
            raise refused
        dry = "dryRun" in (query or {})
        answer = copy.deepcopy(self._answer(method, path, body or {}, dry=dry))
        if not metadata_only:
            return answer
        return {"kind": "PartialObjectMetadata", "metadata": answer["metadata"]}

    async def pages(self, path: str, query: Mapping[str, str] | None = None) -> AsyncIterator[Json]:
        """One page with everything below a path; the selector is the caller's business."""
        await self.request("GET", path, query={**(query or {}), "limit": "500"})
        items = [it for at, it in self.objects.items() if at.startswith(f"{path}/")]
        yield {"metadata": {"resourceVersion": str(self.revision)}, "items": copy.deepcopy(items)}

    def add(self, path: str, manifest: Json) -> Json:
        """Store an object as somebody else would."""
        self.revision += 1
        found = copy.deepcopy(manifest)
        known = {"uid": f"uid-{self.revision}", **found["metadata"]}
        found["metadata"] = {**known, "resourceVersion": str(self.revision)}
        self.objects[path] = found
        return found

    def _answer(self, method: str, path: str, body: Json, *, dry: bool) -> Json:
        if method == "GET" and paths.target(path).resource == "discovery":
            return self._discover(path)
        if method == "GET" and not paths.target(path).named:
            return {}
        if method == "POST":
            return self._create(f"{path}/{body['metadata']['name']}", body, dry=dry)
        at = path.removesuffix("/status")
        if at not in self.objects:
            raise ApiError(404, "NotFound", f"{at} not found")
        if method == "PATCH":
            return self._patch(at, body)
        if method == "DELETE":
            return self._delete(at, body)
        return self.objects[at]

    def _discover(self, path: str) -> Json:
        if path not in self.serves:
            raise ApiError(404, "NotFound", "the server could not find the requested resource")
        return {"resources": [{"name": "podgroups"}]}

    def _create(self, at: str, body: Json, *, dry: bool) -> Json:
        if at in self.objects:
            raise ApiError(409, "AlreadyExists", f"{at} already exists")
        return body if dry else self.add(at, body)

    def _patch(self, at: str, body: Json) -> Json:
        known = self.objects[at]
        wanted = body.get("metadata") or {}
        if wanted.get("uid") not in {None, known["metadata"]["uid"]}:
            raise ApiError(422, "Invalid", "metadata.uid: Invalid value: field is immutable")
        if wanted.get("resourceVersion") not in {None, known["metadata"]["resourceVersion"]}:
            raise ApiError(409, "Conflict", "the object has been modified")
        return self.add(at, self.admit(merged(known, {**body, "metadata": {}})))

    def _delete(self, at: str, body: Json) -> Json:
        wanted = body["preconditions"]
        known = self.objects[at]["metadata"]
        if any(known[field] != value for field, value in wanted.items()):
            raise ApiError(409, "Conflict", "the UID in the precondition does not match")
        del self.objects[at]
        return {"kind": "Status", "status": "Success"}


def merged(old: Any, patch: Any) -> Any:
    """RFC 7396."""
    if not isinstance(patch, dict):
        return patch
    base = dict(old) if isinstance(old, dict) else {}
    for key, value in patch.items():
        if value is None:
            base.pop(key, None)
        else:
            base[key] = merged(base.get(key), value)
    return base
