"""What a watcher sees of a namespace, and when: the same eyes for every system.

Times are the arrival of the event here, so that no system's own words are believed.
"""

import asyncio
import math
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from benchmarks.compare.client import Client, Json
from benchmarks.compare.kinds import Kind

NEVER: Final = math.nan


@dataclass(slots=True)
class Pod:
    """One pod, and when what of it was seen."""

    name: str
    job: str
    added: float
    phase: str = "Pending"
    phases: dict[str, float] = field(default_factory=dict)
    gone: float = NEVER


@dataclass(slots=True)
class View:
    """A namespace: its pods, its services and the resources of one kind."""

    client: Client
    namespace: str
    kind: Kind
    pods: dict[str, Pod] = field(default_factory=dict)
    """By uid; those that are gone stay."""
    services: dict[str, float] = field(default_factory=dict)
    jobs: dict[str, Json] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    """How many pods each job is to have."""
    running: dict[str, float] = field(default_factory=dict)
    """When each job first said that all of it runs."""
    succeeded: dict[str, float] = field(default_factory=dict)
    whole: dict[str, float] = field(default_factory=dict)
    """When each job had all of its pods."""
    phases: Counter[str] = field(default_factory=Counter)
    """How many of the pods that are there are in each phase."""
    last: float = 0.0
    """When the last event came."""
    broken: BaseException | None = None
    """Why nothing more is seen."""
    _of_job: Counter[str] = field(default_factory=Counter)
    _moved: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def follow(self) -> None:
        """Watch until cancelled."""
        core = f"/api/v1/namespaces/{self.namespace}"
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._read(f"{core}/pods", self._pod))
                group.create_task(self._read(f"{core}/services", self._service))
                group.create_task(self._read(self.kind.path(self.namespace), self._job))
        except ExceptionGroup as errors:
            self.broken = errors.exceptions[0]
            async with self._moved:
                self._moved.notify_all()

    async def until(self, holds: Callable[[], bool], patience: float) -> float:
        """When it came to hold; never, if patience ends before.

        Raises:
            RuntimeError: when the watch has ended.
        """
        deadline = time.monotonic() + patience
        async with self._moved:
            while not holds():
                if self.broken is not None:
                    raise RuntimeError("nothing is watched any more") from self.broken
                left = deadline - time.monotonic()
                if left <= 0:
                    return NEVER
                try:
                    await asyncio.wait_for(self._moved.wait(), left)
                except TimeoutError:
                    return NEVER
        return self.last

    def living(self) -> list[Pod]:
        """The pods that are there."""
        return [it for it in self.pods.values() if math.isnan(it.gone)]

    async def _read(self, path: str, take: Callable[[str, Json, float], None]) -> None:
        async for event in self.client.watch(path):
            now = time.monotonic()
            take(event["type"], event["object"], now)
            async with self._moved:
                self.last = now
                self._moved.notify_all()

    def _pod(self, what: str, body: Json, now: float) -> None:
        metadata, status = body["metadata"], body.get("status") or {}
        pod = self.pods.get(metadata["uid"])
        if pod is None:
            pod = self.pods[metadata["uid"]] = Pod(metadata["name"], self.kind.job_of(body), now)
            self._of_job[pod.job] += 1
            if self._of_job[pod.job] == self.sizes.get(pod.job):
                self.whole[pod.job] = now
        elif math.isnan(pod.gone):
            self.phases[pod.phase] -= 1
        pod.phase = status.get("phase") or "Pending"
        pod.phases.setdefault(pod.phase, now)
        if what == "DELETED":
            pod.gone = now
        else:
            self.phases[pod.phase] += 1

    def _service(self, what: str, body: Json, now: float) -> None:
        if what != "DELETED":
            self.services.setdefault(body["metadata"]["name"], now)

    def _job(self, what: str, body: Json, now: float) -> None:
        name, status = body["metadata"]["name"], body.get("status") or {}
        if what == "DELETED":
            self.jobs.pop(name, None)
            return
        self.jobs[name] = body
        if self.kind.running(status, self.sizes.get(name, 0)):
            self.running.setdefault(name, now)
        if self.kind.succeeded(status):
            self.succeeded.setdefault(name, now)
