"""What is there of one job: from memory, and from the API server when memory may be wrong.

A watch that has to start anew tells what is there and forgets to tell what is gone. So
the operator lists a job's objects when it first sees the job, once more soon after its own
start (a watch may have begun after the first list), and again and again while it runs.
"""

import asyncio
import random
from collections.abc import Callable
from typing import Any

from trainingjobs.cluster import paths
from trainingjobs.cluster.api import Api
from trainingjobs.cluster.shelf import version_of
from trainingjobs.cluster.store import Store
from trainingjobs.model import labels
from trainingjobs.model.job import TrainingJob
from trainingjobs.model.observed import Observed

YOUNG_SECONDS = 60.0
"""For how long after its start the operator may have missed what vanished."""
SECOND_LOOK_SECONDS = 30.0

Manifest = dict[str, Any]


class Observer:
    """Looks at jobs; remembers for each when it has to look at the API server again."""

    def __init__(
        self, api: Api, store: Store, resync_seconds: float, clock: Callable[[], float]
    ) -> None:
        self._api = api
        self._store = store
        self._resync = resync_seconds
        self._clock = clock
        self._started = clock()
        self._due: dict[str, float] = {}

    async def observe(self, job: TrainingJob) -> Observed:
        """All that is there of the job, in a snapshot."""
        now = self._clock()
        first = job.uid not in self._due
        if first or (now >= self._due[job.uid] and not job.status.finished):
            await self._list(job)
            self._due[job.uid] = now + self._pause(young=first and self._young(now))
        return self.remembered(job)

    def remembered(self, job: TrainingJob) -> Observed:
        """What is there of the job, as far as memory goes."""
        return Observed(pods=self._store.pods_of(job.uid), service=self._store.has_service(job.uid))

    def seconds_left(self, job: TrainingJob) -> float | None:
        """Until the next list is due; None for a finished job."""
        due = self._due.get(job.uid)
        return None if due is None or job.status.finished else max(due - self._clock(), 0.0)

    def forget(self, uid: str) -> None:
        """The job is gone."""
        self._due.pop(uid, None)

    def _young(self, now: float) -> bool:
        return now - self._started < YOUNG_SECONDS

    def _pause(self, *, young: bool) -> float:
        longest = min(SECOND_LOOK_SECONDS, self._resync) if young else self._resync
        return longest * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, guards nothing

    async def _list(self, job: TrainingJob) -> None:
        (pods, pods_at), (services, services_at) = await asyncio.gather(
            self._collect(paths.pods(job.namespace), job.uid),
            self._collect(paths.services(job.namespace), job.uid),
        )
        self._store.replace_pods(job.uid, pods, pods_at)
        self._store.replace_services(job.uid, services, services_at)

    async def _collect(self, path: str, job_uid: str) -> tuple[list[Manifest], str]:
        items: dict[str, Manifest] = {}
        version = ""
        async for page in self._api.pages(path, {"labelSelector": labels.selector(job_uid)}):
            items |= {item["metadata"]["uid"]: item for item in page.get("items") or ()}
            version = version_of(page)
        return list(items.values()), version
