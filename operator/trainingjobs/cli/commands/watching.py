"""`top`: one job on the screen, as it changes."""

import asyncio
import shutil
import sys
from collections.abc import Iterator
from contextlib import aclosing, suppress
from datetime import UTC, datetime

import click

from trainingjobs.cli import options, screen
from trainingjobs.cli.views import description, paint
from trainingjobs.client.aio import AsyncTrainingJobClient
from trainingjobs.client.failures import ClientError
from trainingjobs.client.job import Job, Manifest

_LIVE = ("", "Findings", "Root cause", "Ranks")
_SECONDS = 1.0
_FRESH = 30.0
"""Seconds after which all pods are listed anew."""
_HOME, _REST = "\x1b[H", "\x1b[J"
_LINE_END = "\x1b[K\n"


@click.command("top", cls=options.Command)
@options.job
@options.where
def top_(name: str) -> None:
    """Watch a job: progress, rate, ranks and findings, until it is over.

    Where the output is no terminal, the job as it is now is shown once.
    """
    screen.run(_watched(name), f"left: {name} goes on")


async def _watched(name: str) -> None:
    async with screen.connect() as client:
        if not screen.at_terminal():
            job = await client.get_job(name)
            screen.write(lines(job, await client.get_job_pods(job), datetime.now(UTC)))
            return
        latest: asyncio.Queue[Job] = asyncio.Queue()
        watching = asyncio.create_task(_follow(client, name, latest))
        sys.stdout.write(f"{_HOME}{_REST}")
        try:
            await _painted(client, latest, watching)
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)


async def _follow(client: AsyncTrainingJobClient, name: str, latest: asyncio.Queue[Job]) -> None:
    async with aclosing(client.watch_job(name)) as states:
        async for job in states:
            await latest.put(job)
            if job.finished:
                return


async def _painted(
    client: AsyncTrainingJobClient, latest: asyncio.Queue[Job], watching: asyncio.Task[None]
) -> None:
    """A picture a second at most, and each second, since ages go on."""
    job: Job | None = None
    pods = _Pods(client)
    try:
        while job is None or not job.finished:
            try:
                job = await asyncio.wait_for(latest.get(), _SECONDS)
            except TimeoutError:
                if watching.done():
                    watching.result()
            while not latest.empty():
                job = latest.get_nowait()
            if job is not None:
                _paint(job, await pods.now(job))
                await asyncio.sleep(_SECONDS)
    finally:
        await pods.close()


class _Pods:
    """The job's pods: watched, and listed now and then, since the watch tells of no deletion."""

    def __init__(self, client: AsyncTrainingJobClient) -> None:
        self._client = client
        self._by_name: dict[str, Manifest] = {}
        self._listed: float | None = None
        self._watching: asyncio.Task[None] | None = None

    async def now(self, job: Job) -> list[Manifest]:
        """Those that are there; none where one may not look."""
        time = asyncio.get_running_loop().time()
        if self._listed is None or time - self._listed >= _FRESH:
            self._listed = time
            with suppress(ClientError):
                found = await self._client.get_job_pods(job)
                self._by_name = {pod["metadata"]["name"]: pod for pod in found}
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch(job))
        return list(self._by_name.values())

    async def close(self) -> None:
        """Watch no more."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)

    async def _watch(self, job: Job) -> None:
        with suppress(ClientError):
            async with aclosing(self._client.watch_pods(job)) as pods:
                async for pod in pods:
                    self._by_name[pod["metadata"]["name"]] = pod


def _paint(job: Job, pods: list[Manifest]) -> None:
    room = shutil.get_terminal_size()
    found = list(lines(job, pods, datetime.now(UTC)))[: room.lines - 1]
    if not screen.coloured():
        found = [click.unstyle(line) for line in found]
    picture = "".join(f"{line[: room.columns]}{_LINE_END}" for line in found)
    sys.stdout.write(f"{_HOME}{picture}{_REST}")
    sys.stdout.flush()


def lines(job: Job, pods: list[Manifest], now: datetime) -> Iterator[str]:
    """What is shown."""
    for heading, found in description.sections(job, pods, [], now, options.program()):
        if heading in _LIVE:
            yield from ["", paint.heading(f"{heading}:")] if heading else []
            indent = "  " if heading else ""
            yield from (indent + screen.printable(line) for line in found)
