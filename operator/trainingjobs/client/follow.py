"""All ranks' logs as one stream: over lost connections, restarts and the end of pods.

Each container has a reader of its own.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import httpx2

from trainingjobs.client import containers
from trainingjobs.client.errors import ClientError, GoneError
from trainingjobs.client.failures import told, translated
from trainingjobs.client.job import Job, Manifest
from trainingjobs.client.lines import LogLine, Splitter, parsed
from trainingjobs.client.merge import merged
from trainingjobs.client.raw import Raw
from trainingjobs.client.reader import Reader, of
from trainingjobs.model import labels
from trainingjobs.model import ranks as sets
from trainingjobs.model.times import write_time

if TYPE_CHECKING:
    from trainingjobs.client.aio import AsyncTrainingJobClient

_LOG = logging.getLogger(__name__)
MAX_RANKS = 256
_BUFFER = 10_000
_LAST = 10.0
"""Seconds in which a reader must get on, once the job is over."""
_LEAVING = 4
"""So many times as long, while its pod is being deleted: it may have last words."""
_CLOCKS = timedelta(seconds=5)
"""The nodes' clocks and ours may differ by this."""


@dataclass(slots=True)
class Follower:
    """Reads one job's logs."""

    client: "AsyncTrainingJobClient"
    source: Raw
    job: Job
    ranks: Iterable[int] | None = None
    attempt: int | None = None
    began: str = field(default_factory=lambda: write_time(datetime.now(UTC) - _CLOCKS))
    _chosen: frozenset[int] | None = None
    _queue: "asyncio.Queue[LogLine | ClientError | None]" = field(
        default_factory=lambda: asyncio.Queue(_BUFFER)
    )
    _stopped: bool = False
    _old: set[str] = field(default_factory=set)
    """Uids of containers that ran before the command: a tail is of their lines alone."""
    _readers: dict[str, Reader] = field(default_factory=dict)
    _tasks: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._chosen = None if self.ranks is None else frozenset(self.ranks)

    async def read(self, tail: int | None = None) -> AsyncGenerator[LogLine, None]:
        """What is there of the attempt's pods, in the order of time."""
        attempt = self.attempt or self.job.attempt
        pods = [
            pod
            for pod in await self.client.get_job_pods(self.job)
            if containers.number(pod, labels.ATTEMPT) == attempt and self._wanted(pod)
        ]
        self._check(pods, attempt)
        started = [pod for pod in pods if containers.word(pod) != "waiting"]
        async with aclosing(merged([self._whole(pod, tail) for pod in started])) as lines:
            async for line in lines:
                yield line

    async def follow(self, tail: int | None = None) -> AsyncGenerator[LogLine, None]:
        """All lines as they come, until the job is finished and every line is told."""
        self._limit()
        there = await self.client.get_job_pods(self.job)
        self._old = {_uid(pod) for pod in there if containers.word(pod) != "waiting"}
        feeder = asyncio.create_task(self._run(tail))
        try:
            while (line := await self._queue.get()) is not None:
                if isinstance(line, ClientError):
                    raise line
                yield line
            await feeder
        finally:
            self._stopped = True
            tasks = (feeder, *self._tasks.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, tail: int | None) -> None:
        last = None
        try:
            await self._feed(tail)
        except ClientError as error:
            last = error
        finally:
            if not self._stopped:
                await self._queue.put(last)

    async def _feed(self, tail: int | None) -> None:
        """Start a reader for each container that starts, and wait for all when the job is over."""
        pods = asyncio.create_task(self._readers_start(tail))
        try:
            await self._job_ends()
            for pod in (await self._now()).values():
                self._start(pod, tail)
        finally:
            pods.cancel()
            await asyncio.gather(pods, return_exceptions=True)
        left = await self._readers_end()
        if left:
            words = "rank %s of %s could not be read to its end"
            _LOG.warning(words, sets.compact(left), self.job.name)
        await asyncio.gather(*(task for task in self._tasks.values() if not task.cancelled()))

    async def _job_ends(self) -> None:
        with suppress(GoneError):
            async with aclosing(self.client.watch_job(self.job.name)) as states:
                async for job in states:
                    later = self.attempt is not None and job.attempt > self.attempt
                    if job.finished or later or job.uid != self.job.uid:
                        return

    async def _readers_end(self) -> set[int]:
        """Wait for what is left to read; ranks whose log does not come, or does not end."""
        left, turn = set(), 0
        while going := {uid: task for uid, task in self._tasks.items() if not task.done()}:
            before = {uid: self._readers[uid].told for uid in going}
            await asyncio.wait(going.values(), timeout=_LAST)
            turn += 1
            slow = self._queue.full()  # who takes the lines is, not who reads them
            now = await self._now()
            for uid, task in going.items():
                stands = self._readers[uid].told == before[uid] and not slow
                if not task.done() and _hopeless(now.get(uid), turn, stands=stands):
                    task.cancel()
                    left.add(containers.number(self._readers[uid].pod, labels.RANK))
            stopped = [task for task in going.values() if task.cancelling()]
            await asyncio.gather(*stopped, return_exceptions=True)
        return left

    async def _now(self) -> dict[str, Manifest]:
        """The pods by uid; none where nobody tells."""
        with suppress(ClientError):
            return {_uid(pod): pod for pod in await self.client.get_job_pods(self.job)}
        return {}

    async def _readers_start(self, tail: int | None) -> None:
        try:
            async with aclosing(self.client.watch_pods(self.job)) as pods:
                async for pod in pods:
                    self._start(pod, tail)
        except ClientError as error:
            await self._queue.put(error)

    def _start(self, pod: Manifest, tail: int | None) -> None:
        uid = _uid(pod)
        right = self.attempt in {None, containers.number(pod, labels.ATTEMPT)}
        known = uid in self._readers
        if known or not right or not self._wanted(pod) or containers.word(pod) == "waiting":
            return
        own = tail if uid in self._old else None
        self._readers[uid] = Reader(self.source, pod, self._queue.put, own, self.began)
        self._tasks[uid] = asyncio.create_task(self._reads(self._readers[uid]))

    async def _reads(self, reader: Reader) -> None:
        try:
            with told():
                await reader.run()
        except ClientError as error:
            await self._queue.put(error)

    async def _whole(self, pod: Manifest, tail: int | None) -> AsyncGenerator[LogLine, None]:
        splitter = Splitter()
        try:
            async with aclosing(self.source.log(pod, tail=tail)) as parts:
                async for part in parts:
                    for raw in splitter.lines(part):
                        yield of(pod, parsed(raw))
        except httpx2.HTTPError as error:
            if not _is_gone(error):
                raise translated(error) from error
        for raw in splitter.last():
            yield of(pod, parsed(raw))

    def _wanted(self, pod: Manifest) -> bool:
        return self._chosen is None or containers.number(pod, labels.RANK) in self._chosen

    def _limit(self) -> None:
        """Follow the first ranks alone where there are too many, also where they come later."""
        many = sorted(range(self.job.size) if self._chosen is None else self._chosen)
        if min(len(many), self.job.size) > MAX_RANKS:
            words = "%s has %d ranks: the first %d are followed; choose others with --rank 0-31"
            _LOG.warning(words, self.job.name, self.job.size, MAX_RANKS)
        self._chosen = frozenset(range(MAX_RANKS) if self._chosen is None else many[:MAX_RANKS])

    def _check(self, pods: list[Manifest], attempt: int) -> None:
        asked = {containers.number(pod, labels.RANK) for pod in pods}
        if len(asked) > MAX_RANKS:
            raise ClientError(f"{len(asked)} ranks are too many at a time: choose with --rank 0-31")
        if not pods:
            raise ClientError(
                f"no pods of attempt {attempt} of {self.job.name} are there, and their logs went "
                f"with them; `describe {self.job.name}` tells what is known of each attempt"
            )


def _uid(pod: Manifest) -> str:
    return str(pod["metadata"]["uid"])


def _hopeless(pod: Manifest | None, turn: int, *, stands: bool) -> bool:
    """True of a log that does not come, or of one that goes on though the job is over."""
    if pod is None:
        return stands
    leaving = bool(pod["metadata"].get("deletionTimestamp"))
    if containers.word(pod) == "running" and not leaving:
        return True
    return stands and not (leaving and turn < _LEAVING)


def _is_gone(error: httpx2.HTTPError) -> bool:
    """True where the pod went away after it was listed."""
    if not isinstance(error, httpx2.HTTPStatusError):
        return False
    return error.response.status_code == httpx2.codes.NOT_FOUND
