"""Tells people what happened, as Kubernetes events; nothing depends on it.

The name of an event is made from the job, its attempt and the reason, so that the same
thing said again counts up the event that is there instead of making another. The message
is no part of it: it may have numbers in it that change each time.
"""

import asyncio
import hashlib
import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime
from typing import Any

from trainingjobs.cluster import errors, paths
from trainingjobs.cluster.api import Api
from trainingjobs.cluster.errors import ApiError
from trainingjobs.model import labels
from trainingjobs.model.job import TrainingJob
from trainingjobs.model.notice import Notice
from trainingjobs.model.text import cut
from trainingjobs.model.times import write_time

MAX_REMEMBERED = 1024
MAX_MESSAGE = 1024
_MAX_STEM = 200
_SECONDS = 5.0
_LOG = logging.getLogger(__name__)


class Recorder:
    """Posts notices about jobs and remembers how often each was posted."""

    def __init__(self, api: Api, clock: Callable[[], datetime], instance: str) -> None:
        self._api = api
        self._clock = clock
        self._instance = instance
        self._counts: OrderedDict[str, int] = OrderedDict()

    async def post(
        self, metadata: dict[str, Any], notices: Iterable[Notice], attempt: int = 0
    ) -> None:
        """Post these notices about an attempt of the job; a failure is only logged."""
        for notice in notices:
            event = self._event(metadata, event_name(metadata, notice, attempt), notice)
            try:
                async with asyncio.timeout(_SECONDS):
                    await self._post(event)
            except (ApiError, TimeoutError) as error:
                _LOG.warning("event %s could not be posted: %s", notice.reason, error)

    def forget_counts(self) -> None:
        """Somebody else may have counted on."""
        self._counts.clear()

    async def _post(self, event: dict[str, Any]) -> None:
        name = event["metadata"]["name"]
        if name in self._counts and await self._count(event, self._counts[name] + 1):
            return
        try:
            path = paths.events(event["metadata"]["namespace"])
            await self._api.request("POST", path, body=event)
            self._remember(name, 1)
        except ApiError as error:
            if not errors.exists(error):
                raise
            await self._count(event, None)

    async def _count(self, event: dict[str, Any], count: int | None) -> bool:
        """Count the event up; without a known count the answer to a first patch tells it."""
        patch = {field: event[field] for field in ("lastTimestamp", "message")}
        if count is not None:
            patch["count"] = count
        name, namespace = event["metadata"]["name"], event["metadata"]["namespace"]
        with suppress(KeyError):
            del self._counts[name]
        try:
            path = f"{paths.events(namespace)}/{name}"
            answer = await self._api.request("PATCH", path, body=patch)
        except ApiError as error:
            if error.status != errors.NOT_FOUND:
                raise
            return False
        if count is None:
            return await self._count(event, int(answer.get("count") or 1) + 1)
        self._remember(name, count)
        return True

    def _remember(self, name: str, count: int) -> None:
        self._counts[name] = count
        while len(self._counts) > MAX_REMEMBERED:
            self._counts.popitem(last=False)

    def _event(self, job: dict[str, Any], name: str, notice: Notice) -> dict[str, Any]:
        now = write_time(self._clock())
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": job["namespace"]},
            "involvedObject": {
                "apiVersion": labels.API_VERSION,
                "kind": labels.KIND,
                "namespace": job["namespace"],
                "name": job["name"],
                "uid": job["uid"],
                "resourceVersion": job.get("resourceVersion", ""),
            },
            "type": notice.type,
            "reason": notice.reason,
            "message": cut(notice.message, MAX_MESSAGE),
            "source": {"component": labels.COMPONENT_NAME},
            "reportingComponent": labels.COMPONENT_NAME,
            "reportingInstance": self._instance,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }


def identity(job: TrainingJob) -> dict[str, Any]:
    """What an event says of the job that it is about."""
    return {
        "name": job.name,
        "namespace": job.namespace,
        "uid": job.uid,
        "resourceVersion": job.resource_version,
    }


def about(job: TrainingJob) -> dict[str, str | int]:
    """What every log line about a job carries."""
    return {"job": job.name, "namespace": job.namespace, "attempt": job.attempt}


def event_name(job: dict[str, Any], notice: Notice, attempt: int) -> str:
    """The same name for the same step of the same attempt of the same job."""
    said = "\0".join((job["uid"], str(attempt), notice.reason))
    digest = hashlib.sha256(said.encode()).hexdigest()[:16]
    return f"{job['name'][:_MAX_STEM].rstrip('.-')}.{digest}"
