"""`list`: which jobs there are, and how they fare."""

from datetime import UTC, datetime

import click

from trainingjobs.cli import options, screen
from trainingjobs.cli.views import listing, paint, text
from trainingjobs.client.job import Job


@click.command("list", cls=options.Command)
@click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="Of all namespaces.")
@options.phases("--status", "In this phase alone.")
@options.output("wide", "json", "yaml", "name")
@options.where
def list_(*, everywhere: bool, phases: tuple[str, ...], form: str | None) -> None:
    r"""List jobs.

    \b
    Examples:
      {program} list -A
      {program} list --status Running --status Pending -o wide
    """
    jobs, namespace = screen.run(_jobs(everywhere=everywhere))
    chosen = [job for job in jobs if not phases or job.phase in phases]
    if form in {"json", "yaml"}:
        items = [job.manifest for job in chosen]
        screen.document({"apiVersion": "v1", "kind": "List", "items": items}, form)
    elif form == "name":
        screen.write(f"trainingjob.trainingjob.dev/{screen.safe(job.name)}" for job in chosen)
    elif not chosen:
        screen.note("no jobs" + ("" if everywhere else f" in namespace {namespace}"))
    else:
        table = listing.rows(chosen, datetime.now(UTC), wide=form == "wide", spaces=everywhere)
        lines = text.columns([[screen.safe(cell) for cell in row] for row in table])
        screen.write(paint.phases(lines))


async def _jobs(*, everywhere: bool) -> tuple[list[Job], str]:
    async with screen.connect() as client:
        return await client.list_jobs(all_namespaces=everywhere), client.namespace
