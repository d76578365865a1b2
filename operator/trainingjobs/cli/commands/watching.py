"""`top`: one job on the screen, as it changes."""

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

import click

from trainingjobs.cli import options, screen
from trainingjobs.cli.views import description, live, paint
from trainingjobs.client.errors import ClientError
from trainingjobs.client.job import Job, Manifest

if TYPE_CHECKING:
    from rich.live import Live

    from trainingjobs.cli.commands.hearing import Heard
    from trainingjobs.client.aio import AsyncTrainingJobClient

_RANKS = "Ranks"
_LIVE = ("", "Findings", "Root cause", _RANKS)
_SECONDS = 1.0
_FRESH = 30.0
"""Seconds after which all pods are listed anew."""


@click.command("top", cls=options.Command)
@options.job
@options.account
@options.where
def top_(name: str, account: str) -> None:
    r"""Watch a job: progress, rate, ranks and findings, until it is over.

    Every rank's stage, step, rate and line come from the operator itself, through a port-forward;
    who may not do that sees those that the resource names. Where the output is no terminal, the
    job as it is now is shown once.

    \b
    Examples:
      {program} top mnist
      {program} top mnist --account viewer
    """
    screen.run(_watched(name, account), f"left: {name} goes on")


async def _watched(name: str, account: str) -> None:
    from trainingjobs.cli.commands.hearing import Heard  # noqa: PLC0415  not for help

    async with screen.connect() as client:
        heard = Heard(client, account)
        if not screen.draws():
            job = await client.get_job(name)
            if not job.finished:
                await heard.once(job)
            screen.write(lines(job, await client.get_job_pods(job), datetime.now(UTC), heard))
            return
        latest: asyncio.Queue[Job] = asyncio.Queue()
        watching = asyncio.create_task(_follow(client, name, latest))
        try:
            with _picture() as picture:
                await _painted(_Pods(client), heard, _States(latest, watching), picture)
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)


async def _follow(client: "AsyncTrainingJobClient", name: str, latest: asyncio.Queue[Job]) -> None:
    async with aclosing(client.watch_job(name)) as states:
        async for job in states:
            await latest.put(job)
            if job.finished:
                return


async def _painted(pods: "_Pods", heard: "Heard", states: "_States", picture: "Live") -> None:
    """A picture a second at most, and each second, since ages go on."""
    job: Job | None = None
    try:
        while job is None or not job.finished:
            job = await states.next() or job
            if job is not None:
                heard.begin(job)
                shown = lines(job, await pods.now(job), datetime.now(UTC), heard)
                _paint(picture, shown)
                await asyncio.sleep(_SECONDS)
    finally:
        await asyncio.gather(pods.close(), heard.close())


def _picture() -> "Live":
    """Drawn anew in its place, as large as the window; what was there before stays above it."""
    from rich.console import Console  # noqa: PLC0415  only for who watches
    from rich.live import Live  # noqa: PLC0415

    colours: Literal["auto"] | None = "auto" if screen.coloured() else None
    console = Console(color_system=colours, force_terminal=True)
    return Live(console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False)


def _paint(picture: "Live", shown: Iterable[str]) -> None:
    from rich.text import Text  # noqa: PLC0415

    text = Text.from_ansi("\n".join(shown), no_wrap=True, overflow="ellipsis")
    picture.update(text, refresh=True)


class _States:
    """What the watch tells of the job."""

    def __init__(self, latest: asyncio.Queue[Job], watching: asyncio.Task[None]) -> None:
        self._latest = latest
        self._watching = watching

    async def next(self) -> Job | None:
        """The newest one, None when there is none for a while; raises what ended the watch."""
        job: Job | None = None
        try:
            job = await asyncio.wait_for(self._latest.get(), _SECONDS)
        except TimeoutError:
            if self._watching.done():
                self._watching.result()
        while not self._latest.empty():
            job = self._latest.get_nowait()
        return job


class _Pods:
    """The job's pods: watched, and listed now and then, since the watch tells of no deletion."""

    def __init__(self, client: "AsyncTrainingJobClient") -> None:
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


def lines(job: Job, pods: list[Manifest], now: datetime, heard: "Heard") -> Iterator[str]:
    """What is shown."""
    for heading, found in description.sections(job, pods, [], now, options.program()):
        if heading in _LIVE:
            yield from ["", paint.heading(f"{heading}:")] if heading else []
            indent = "  " if heading else ""
            shown = _ranks(found, pods, heard) if heading == _RANKS else found
            yield from (indent + screen.printable(line) for line in shown)


def _ranks(found: list[str], pods: list[Manifest], heard: "Heard") -> list[str]:
    """All that are heard of; else those of which the resource speaks, and why it is no more."""
    if heard.whole is not None and heard.whole.get("ranks"):
        return live.table(heard.whole, pods)
    return [*found, *([f"(as the resource says: {heard.wrong})"] if heard.wrong else [])]
