"""All ranks' logs as one stream: over lost connections, restarts and the end of pods.

Each container has a reader of its own. A container that has ended is read once more after its
end was seen: only then no line can be missing that a broken stream has kept back.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import httpx2

from trainingjobs.client import containers
from trainingjobs.client.failures import ClientError, GoneError, translated
from trainingjobs.client.job import Job, Manifest
from trainingjobs.client.lines import Line, LogLine, Memory, Splitter, parsed
from trainingjobs.client.merge import merged
from trainingjobs.client.raw import Raw
from trainingjobs.model import labels

if TYPE_CHECKING:
    from trainingjobs.client.aio import AsyncTrainingJobClient

MAX_RANKS = 256
_BUFFER = 10_000
_PAUSE = 0.5
_FINAL = {401, 403}


@dataclass(slots=True)
class Follower:
    """Reads one job's logs."""

    client: "AsyncTrainingJobClient"
    source: Raw
    job: Job
    ranks: Iterable[int] | None = None
    attempt: int | None = None
    _queue: "asyncio.Queue[LogLine | ClientError | None]" = field(
        default_factory=lambda: asyncio.Queue(_BUFFER)
    )
    _stopped: bool = False
    _readers: dict[str, asyncio.Task[None]] = field(default_factory=dict)

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
        self._check(await self.client.get_job_pods(self.job), None)
        feeder = asyncio.create_task(self._run(tail))
        try:
            while (line := await self._queue.get()) is not None:
                if isinstance(line, ClientError):
                    raise line
                yield line
            await feeder
        finally:
            self._stopped = True
            tasks = (feeder, *self._readers.values())
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
            with suppress(ClientError):
                for pod in await self.client.get_job_pods(self.job):
                    self._start(pod, tail)
        finally:
            pods.cancel()
            await asyncio.gather(pods, return_exceptions=True)
        await asyncio.gather(*self._readers.values())

    async def _job_ends(self) -> None:
        with suppress(GoneError):
            async with aclosing(self.client.watch_job(self.job.name)) as states:
                async for job in states:
                    later = self.attempt is not None and job.attempt > self.attempt
                    if job.finished or later or job.uid != self.job.uid:
                        return

    async def _readers_start(self, tail: int | None) -> None:
        try:
            async with aclosing(self.client.watch_pods(self.job)) as pods:
                async for pod in pods:
                    self._start(pod, tail)
        except ClientError as error:
            await self._queue.put(error)

    def _start(self, pod: Manifest, tail: int | None) -> None:
        uid = pod["metadata"]["uid"]
        right = self.attempt in {None, containers.number(pod, labels.ATTEMPT)}
        known = uid in self._readers
        if known or not right or not self._wanted(pod) or containers.word(pod) == "waiting":
            return
        self._readers[uid] = asyncio.create_task(self._reads(pod, tail))

    async def _reads(self, pod: Manifest, tail: int | None) -> None:
        """Every line of one container, until it is gone or has ended and was read to its end."""
        memory = Memory()
        now: Manifest | None = pod
        while now is not None:
            ended = containers.word(now) == "terminated"
            try:
                await self._once(now, memory, ended=ended, tail=None if memory.since else tail)
                if ended:
                    return
                now = await self.source.pod(pod)
            except httpx2.HTTPStatusError as error:
                if error.response.status_code == httpx2.codes.NOT_FOUND:
                    return
                if error.response.status_code in _FINAL:
                    await self._queue.put(translated(error))
                    return
            except httpx2.HTTPError:
                pass  # the stream broke: it is read again from where it was
            await asyncio.sleep(_PAUSE)

    async def _once(self, pod: Manifest, memory: Memory, *, ended: bool, tail: int | None) -> None:
        splitter = Splitter()
        memory.reopen()
        data = self.source.log(pod, since=memory.since, follow=not ended, tail=tail)
        async with aclosing(data):
            async for part in data:
                for raw in splitter.lines(part):
                    await self._tell(pod, memory, parsed(raw))
        if ended:
            for raw in splitter.last():
                await self._tell(pod, memory, parsed(raw))

    async def _tell(self, pod: Manifest, memory: Memory, line: Line) -> None:
        if memory.is_new(line):
            await self._queue.put(_of(pod, line))

    async def _whole(self, pod: Manifest, tail: int | None) -> AsyncGenerator[LogLine, None]:
        splitter = Splitter()
        try:
            async with aclosing(self.source.log(pod, tail=tail)) as parts:
                async for part in parts:
                    for raw in splitter.lines(part):
                        yield _of(pod, parsed(raw))
        except httpx2.HTTPError as error:
            if not _is_gone(error):
                raise translated(error) from error
        for raw in splitter.last():
            yield _of(pod, parsed(raw))

    def _wanted(self, pod: Manifest) -> bool:
        return self.ranks is None or containers.number(pod, labels.RANK) in set(self.ranks)

    def _check(self, pods: list[Manifest], attempt: int | None) -> None:
        asked = {containers.number(pod, labels.RANK) for pod in pods if self._wanted(pod)}
        if len(asked) > MAX_RANKS:
            raise ClientError(f"{len(asked)} ranks are too many at a time: choose with --rank 0-31")
        if attempt is not None and not pods:
            raise ClientError(
                f"no pods of attempt {attempt} of {self.job.name} are there, and their logs went "
                f"with them; `describe {self.job.name}` tells what is known of each attempt"
            )


def _of(pod: Manifest, line: Line) -> LogLine:
    return LogLine(
        rank=containers.number(pod, labels.RANK),
        attempt=containers.number(pod, labels.ATTEMPT),
        pod=pod["metadata"]["name"],
        time=line.stamp,
        text=line.text,
    )


def _is_gone(error: httpx2.HTTPError) -> bool:
    """True where the pod went away after it was listed."""
    if not isinstance(error, httpx2.HTTPStatusError):
        return False
    return error.response.status_code == httpx2.codes.NOT_FOUND
