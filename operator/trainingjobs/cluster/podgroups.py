"""Pod groups as the API server tells them, and which of them it knows at all."""

from collections.abc import Mapping
from typing import Any

from trainingjobs.cluster import errors, paths
from trainingjobs.cluster.api import Api
from trainingjobs.cluster.errors import ApiError
from trainingjobs.model import gang
from trainingjobs.model.gang import Gang, GroupSeen


async def served(api: Api, known: frozenset[Gang]) -> frozenset[Gang]:
    """The pod groups that the API server knows now; where it cannot say, as it was known."""
    return frozenset([it for it in Gang if await _is_served(api, it, known)])


async def _is_served(api: Api, it: Gang, known: frozenset[Gang]) -> bool:
    try:
        found = await api.request("GET", paths.api(it))
    except ApiError as error:
        return it in known and error.status != errors.NOT_FOUND
    return any(item["name"] == gang.PLURAL for item in found.get("resources") or ())


def seen(manifest: Mapping[str, Any]) -> GroupSeen | None:
    """The pod group as decisions see it; None once it is being deleted."""
    metadata = manifest["metadata"]
    if "deletionTimestamp" in metadata:
        return None
    it = Gang(manifest["apiVersion"])
    return GroupSeen(
        gang=it,
        name=metadata["name"],
        uid=metadata["uid"],
        members=_members(it, manifest.get("spec") or {}),
    )


def _members(it: Gang, spec: Mapping[str, Any]) -> int:
    if it is Gang.KUBERNETES:
        policy = (spec.get("schedulingPolicy") or {}).get("gang") or {}
        return int(policy.get("minCount") or 0)
    return int(spec.get("minMember") or 0)
