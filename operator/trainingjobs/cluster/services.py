"""From a service as the API server tells it to what decisions need of it."""

from collections.abc import Mapping
from typing import Any

from trainingjobs.model.observed import ServiceSeen


def seen(manifest: Mapping[str, Any]) -> ServiceSeen:
    """The service as decisions see it."""
    metadata, spec = manifest["metadata"], manifest.get("spec") or {}
    ports = tuple(int(item["port"]) for item in spec.get("ports") or ())
    return ServiceSeen(name=metadata["name"], uid=metadata["uid"], ports=ports)
