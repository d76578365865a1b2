"""The kinds of objects that clients speak of, all as plain manifests."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from lightkube.core.resource import ApiInfo, ResourceDef
from lightkube.generic_resource import GenericNamespacedResource

from trainingjobs.model import labels
from trainingjobs.model.times import parse_time

_VERBS = ["delete", "get", "global_list", "global_watch", "list", "patch", "post", "put", "watch"]


def _info(group: str, kind: str, plural: str) -> ApiInfo:
    return ApiInfo(resource=ResourceDef(group, "v1", kind), plural=plural, verbs=_VERBS)


class _Object(GenericNamespacedResource):
    """A manifest that knows where the API server keeps it."""

    def __init__(self, manifest: Mapping[str, Any]) -> None:
        dict.__init__(self, manifest)


class TrainingJob(_Object):
    """A job."""

    _api_info = _info(labels.GROUP, labels.KIND, labels.PLURAL)


class Pod(_Object):
    """A pod of a job."""

    _api_info = _info("", "Pod", "pods")


class Event(_Object):
    """What somebody said of a job or a pod."""

    _api_info = _info("", "Event", "events")


class ConfigMap(_Object):
    """A script that was sent."""

    _api_info = _info("", "ConfigMap", "configmaps")


def last_seen(event: Mapping[str, Any]) -> datetime:
    """When it happened last: who tells in the newer way leaves out the older field."""
    series = event.get("series") or {}
    seen = event.get("lastTimestamp") or series.get("lastObservedTime") or event.get("eventTime")
    return parse_time(seen or None) or datetime.min.replace(tzinfo=UTC)
