"""`describe` and `why`: one job, on a screen or in a paragraph."""

import asyncio
import textwrap
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from trainingjobs.cli import options, screen
from trainingjobs.cli.views import description, paint, why
from trainingjobs.client.errors import ClientError
from trainingjobs.client.job import Job, Manifest

if TYPE_CHECKING:
    from trainingjobs.client.aio import AsyncTrainingJobClient

_WIDTH = 100


@click.command("describe", cls=options.Command)
@options.job
@options.output("json", "yaml")
@options.where
def describe_(name: str, form: str | None) -> None:
    r"""Show a job: root cause, ranks, attempts, findings, and what to do next.

    \b
    Examples:
      {program} describe mnist
      {program} describe mnist -o yaml
    """
    job, pods, events = screen.run(_seen(name))
    if form:
        screen.document(job.manifest, form)
        return
    now, program = datetime.now(UTC), options.program()
    screen.write(_lines(description.sections(job, pods, events, now, program)))


@click.command("why", cls=options.Command)
@options.job
@options.output("json", "yaml")
@options.where
def why_(name: str, form: str | None) -> None:
    r"""Say in one paragraph why a job waits, stalls or has failed.

    \b
    Examples:
      {program} why mnist
      {program} why mnist -o json
    """
    job, _, events = screen.run(_seen(name))
    said = why.paragraph(job, events, datetime.now(UTC), options.program())
    if form:
        own = {"name": job.name, "namespace": job.namespace, "phase": job.phase}
        screen.document({**own, "why": said}, form)
        return
    text = screen.safe(said)
    screen.write(textwrap.wrap(text, _WIDTH) if screen.at_terminal() else [text])


def _lines(sections: list[description.Section]) -> Iterator[str]:
    for heading, lines in sections:
        if heading:
            yield ""
            yield paint.heading(f"{heading}:")
        indent = "  " if heading else ""
        yield from (indent + screen.printable(line) for line in lines)


async def _seen(name: str) -> tuple[Job, list[Manifest], list[Manifest]]:
    """The job, its pods and events; those that one may not read are as if there were none."""
    async with screen.connect() as client:
        job = await client.get_job(name)
        pods, events = await asyncio.gather(_pods(client, job), events_of(client, job))
        return job, pods, events


async def _pods(client: "AsyncTrainingJobClient", job: Job) -> list[Manifest]:
    try:
        return await client.get_job_pods(job)
    except ClientError as error:
        screen.note(f"pods are not shown: {screen.safe(error)}")
        return []


async def events_of(client: "AsyncTrainingJobClient", job: Job) -> list[Manifest]:
    """Its events and its pods'; none where one may not read them."""
    try:
        return await client.get_job_events(job)
    except ClientError:
        return []
