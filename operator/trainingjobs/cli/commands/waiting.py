"""`wait`: until a job is over, with an exit code for scripts."""

import asyncio
import re
import sys
from collections.abc import Collection
from contextlib import aclosing
from typing import TYPE_CHECKING

import click

from trainingjobs.cli import options, screen
from trainingjobs.client.job import Job

if TYPE_CHECKING:
    from trainingjobs.client.aio import AsyncTrainingJobClient

TOO_LATE = 124
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_SPAN = re.compile(r"(?:\d+(?:\.\d+)?[smhd])+|\d+")
_PART = re.compile(r"(\d+(?:\.\d+)?)([smhd]?)")


class Span(click.ParamType[float]):
    """A time as `90`, `90s`, `1h30m`."""

    name = "time"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Seconds."""
        if isinstance(value, int | float):
            return float(value)
        if not _SPAN.fullmatch(str(value)):
            self.fail(f"{value!r} is no time: write 90s, 10m or 1h30m", param, ctx)
        return sum(float(count) * _UNITS[unit] for count, unit in _PART.findall(str(value)))


class Unknown(screen.Failure):
    """Whether the job has failed cannot be told."""

    exit_code = 3


@click.command("wait", cls=options.Command)
@options.job
@click.option("--timeout", type=Span(), metavar="TIME", help="As 90s, 10m, 1h30m; for ever.")
@options.phases("--for", "For this phase as well.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing on the way.")
@options.output("name", "json", "yaml")
@options.where
def wait_(
    name: str,
    *,
    timeout: float | None,
    phases: tuple[str, ...],
    quiet: bool,
    form: str | None,
) -> None:
    r"""Wait for a job's end.

    The exit code is 0 when it has succeeded, 1 when it has failed, 124 when time is up, 3 when
    that cannot be told: there is no such job, or no cluster that answers.

    \b
    Examples:
      {program} wait mnist --timeout 2h
      {program} wait mnist --for Running --timeout 5m
    """
    job = screen.run(_reached(name, timeout, phases, quiet=quiet), wrong=Unknown)
    if form:
        screen.done(job.manifest, "", form)
    sys.exit(0 if job.succeeded or job.phase in phases else 1)


async def _reached(
    name: str, seconds: float | None, phases: tuple[str, ...], *, quiet: bool
) -> Job:
    try:
        async with screen.connect() as client, asyncio.timeout(seconds):
            return await reached(client, name, phases, quiet=quiet)
    except TimeoutError:
        screen.note(f"error: {screen.safe(name)} is not over after {seconds:g} s")
        sys.exit(TOO_LATE)


async def reached(
    client: "AsyncTrainingJobClient",
    name: str,
    phases: Collection[str] = (),
    *,
    quiet: bool = False,
) -> Job:
    """The job, once it is over or in one of these phases; each change on the way is told."""
    said = ""
    async with aclosing(client.watch_job(name)) as states:
        async for job in states:
            words = screen.safe(" ".join(filter(None, [job.phase, job.message])))
            if words != said and not quiet:
                screen.note(f"{screen.safe(name)}: {words or 'not seen by an operator'}")
            said = words
            if job.finished or job.phase in phases:
                return job
    raise AssertionError("a watch ends with the job")
