"""`stacks`: where every rank stands now, those at the same place on one line."""

from datetime import UTC, datetime

import click

from trainingjobs.cli import options, screen
from trainingjobs.cli.commands.logs import Ranks
from trainingjobs.cli.views import stacks
from trainingjobs.client.errors import ClientError
from trainingjobs.client.job import Manifest
from trainingjobs.model.limits import MAX_RANKS

_RANKS = Ranks(MAX_RANKS)
"""Of processes, where those of `logs` are pods."""


@click.command("stacks", cls=options.Command)
@options.job
@click.option("-r", "--rank", "only", type=_RANKS, metavar="RANKS", help="As 0,2-3: of these.")
@click.option("--full", is_flag=True, help="Every frame on a line of its own.")
@options.account
@options.output("json", "yaml")
@options.where
def stacks_(
    name: str, *, only: frozenset[int] | None, full: bool, account: str, form: str | None
) -> None:
    r"""Show where every rank of a job stands, as it reported last.

    Ranks at the same place are on one line: the frames of the script, the innermost last. Asked is
    the operator itself, through a port-forward. Ranks are global: with two processes in each pod,
    pod 1 has ranks 2 and 3.

    \b
    Examples:
      {program} stacks mnist
      {program} stacks mnist --rank 3 --full
    """
    found = screen.run(_asked(name, account))
    shown = found if only is None else stacks.chosen(found, only)
    if form:
        screen.document(shown, form)
        return
    screen.write(map(screen.printable, stacks.lines(shown, datetime.now(UTC), full=full)))


async def _asked(name: str, account: str) -> Manifest:
    from trainingjobs.client import live  # noqa: PLC0415  not for help

    async with screen.connect() as client:
        job = await client.get_job(name)
        if job.finished:
            advice = f"`{options.program()} describe {name}` shows why"
            raise ClientError(f"{name} is over ({job.phase}), no rank runs: {advice}")
        async with live.opened(client.raw, job.namespace, account, screen.note) as operator:
            return await operator.stacks(job.namespace, name)
