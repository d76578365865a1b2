"""From a service as the API server tells it to what decisions need of it."""

from collections.abc import Mapping
from typing import Any

from trainingjobs.model.observed import ServiceSeen

_OURS = ("clusterIP", "ports", "publishNotReadyAddresses", "selector", "type")
_PORT = ("name", "port", "protocol", "targetPort")
"""What we say of a service and of its ports; the rest is the cluster's."""


def seen(manifest: Mapping[str, Any]) -> ServiceSeen:
    """The service as decisions see it."""
    metadata, spec = manifest["metadata"], _only(manifest.get("spec") or {}, _OURS)
    ports = [_only(item, _PORT) for item in spec.get("ports") or ()]
    return ServiceSeen(name=metadata["name"], uid=metadata["uid"], spec={**spec, "ports": ports})


def _only(found: Mapping[str, Any], fields: tuple[str, ...]) -> dict[str, Any]:
    return {field: found[field] for field in fields if field in found}
