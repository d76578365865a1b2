"""`logs`: what all ranks say, in one stream that outlives restarts and lost connections."""

import sys
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any

import click

from trainingjobs.cli import options, screen
from trainingjobs.cli.commands.following import followed
from trainingjobs.cli.views import loglines
from trainingjobs.client.errors import ClientError
from trainingjobs.client.job import Job
from trainingjobs.model import ranks
from trainingjobs.model.limits import MAX_INSTANCES

if TYPE_CHECKING:
    from trainingjobs.client.aio import AsyncTrainingJobClient


class Ranks(click.ParamType[frozenset[int]]):
    """A set of ranks as `0,2-3`."""

    name = "ranks"

    def __init__(self, most: int = MAX_INSTANCES) -> None:
        """Take no number that is as large as `most`: a span of it would be a long list."""
        self._most = most

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> frozenset[int]:
        """The set."""
        text = str(value)
        found: frozenset[int] = frozenset()
        with suppress(ValueError):
            numbers = [int(part) for span in text.split(",") for part in span.split("-")]
            found = ranks.expand(text) if max(numbers) < self._most else found
        if not found:
            self.fail(f"{text!r} is no set of ranks: write 0,2-3", param, ctx)
        return found


@click.command("logs", cls=options.Command)
@options.job
@click.option("-f", "--follow", is_flag=True, help="Go on until the job is finished.")
@click.option("-r", "--rank", "only", type=Ranks(), metavar="RANKS", help="As 0,2-3: of these.")
@click.option("--attempt", type=click.IntRange(1), metavar="N", help="Of this attempt alone.")
@click.option("--tail", type=click.IntRange(0), metavar="N", help="So many lines of each rank.")
@click.option("--timestamps", is_flag=True, help="With the time of each line.")
@click.option("--prefix/--no-prefix", default=None, help="The rank before each line.")
@options.where
def logs_(
    name: str,
    *,
    follow: bool,
    only: frozenset[int] | None,
    attempt: int | None,
    tail: int | None,
    **look: bool | None,
) -> None:
    r"""Show what all ranks of a job say.

    Ranks are those of the instances: 0 is the master's pod. With -f it goes on over restarts and
    lost connections; Ctrl-C leaves, and the job goes on.

    \b
    Examples:
      {program} logs mnist
      {program} logs -f mnist --rank 0,2-3
    """

    async def told() -> None:
        async with screen.connect() as client:
            job = await client.get_job(name)
            chosen: dict[str, Any] = {"only": only, "attempt": attempt, "tail": tail, **look}
            if attempt is None:
                await _check(client, job, only, follow=follow)
            if follow:
                await followed(client, job, stream(client, job, **chosen), whole=attempt is None)
            else:
                await stream(client, job, follow=False, **chosen)

    screen.run(told(), f"left: {name} goes on; `{options.program()} logs -f {name}` follows again")


async def _check(
    client: "AsyncTrainingJobClient", job: Job, only: frozenset[int] | None, *, follow: bool
) -> None:
    """Say at once why nothing would be shown.

    Raises:
        ClientError: when nothing ever will be.
    """
    size = max(job.size, int((job.spec.get("elastic") or {}).get("maxInstances") or 0))
    if only is not None and not only & set(range(size)):
        raise ClientError(f"{job.name} has the ranks 0 to {size - 1}")
    if job.finished or await client.get_job_pods(job):
        return
    words = f"{job.name} has no pods ({job.phase or 'no operator has seen it'})"
    why = f"{words}: `{options.program()} why {job.name}` tells more"
    if not follow:
        raise ClientError(why)
    screen.note(why)


async def stream(  # noqa: PLR0913  what people may choose of a log
    client: "AsyncTrainingJobClient",
    job: Job,
    *,
    follow: bool = True,
    only: frozenset[int] | None = None,
    attempt: int | None = None,
    tail: int | None = None,
    timestamps: bool | None = False,
    prefix: bool | None = None,
) -> None:
    """Write the lines of a job's ranks; followed, to the job's end."""
    several = (job.size if only is None else len(only)) > 1
    look = loglines.Look(
        width=len(str(job.size - 1)) if (several if prefix is None else prefix) else 0,
        timestamps=bool(timestamps),
        terminal=screen.at_terminal(),
        coloured=screen.coloured(),
    )
    found = client.get_job_logs(job.name, ranks=only, attempt=attempt, follow=follow, tail=tail)
    last = 0
    async with aclosing(found) as lines:
        async for line in lines:
            if last and line.attempt > last:
                screen.note(f"--- attempt {line.attempt} ---")
            last = max(last, line.attempt)
            sys.stdout.write(look.line(line) + "\n")
            sys.stdout.flush()
    if not follow and not last:
        screen.note(f"no rank has said anything: `{options.program()} why {job.name}` tells more")
