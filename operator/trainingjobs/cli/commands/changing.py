"""`cancel`, `suspend`, `resume`, `scale`, `retry`: one change of a job each."""

import sys

import click

from trainingjobs.cli import options, screen
from trainingjobs.cli.commands import submit
from trainingjobs.client import asked
from trainingjobs.client.errors import ClientError
from trainingjobs.client.job import Manifest
from trainingjobs.model.limits import MAX_INSTANCES


@click.command("cancel", cls=options.Command)
@click.argument("jobs", metavar="JOB...", nargs=-1, required=True, callback=options.bare_names)
@options.output("name")
@options.where
def cancel_(jobs: tuple[str, ...], form: str | None) -> None:
    r"""Delete jobs: their pods are told to stop, and go.

    \b
    Examples:
      {program} cancel mnist
      {program} cancel vit cifar -n lab
    """

    async def cancelled() -> None:
        wanted = [asked.job(name) for name in jobs]  # all before the first one goes
        async with screen.connect() as client:
            for name in wanted:
                await client.delete_job(name)
                screen.done({"metadata": {"name": name}}, "deleted", form)

    screen.run(cancelled())


@click.command("suspend", cls=options.Command)
@options.job
@options.output("name", "json", "yaml")
@options.where
def suspend_(name: str, form: str | None) -> None:
    r"""Stop all pods of a job, and keep the job; `resume` lets it go on in a new attempt.

    \b
    Examples:
      {program} suspend mnist
    """
    _change(name, {"suspend": True}, "suspended", form)


@click.command("resume", cls=options.Command)
@options.job
@options.output("name", "json", "yaml")
@options.where
def resume_(name: str, form: str | None) -> None:
    r"""Let a suspended job go on.

    \b
    Examples:
      {program} resume mnist
    """
    _change(name, {"suspend": False}, "resumed", form)


@click.command("scale", cls=options.Command)
@options.job
@click.argument("instances", metavar="N", type=click.IntRange(1, MAX_INSTANCES))
@options.output("name", "json", "yaml")
@options.where
def scale_(name: str, instances: int, form: str | None) -> None:
    r"""Give a job another number of pods: an elastic one while it runs, others while suspended.

    \b
    Examples:
      {program} scale mnist 4
    """
    _change(name, {"PARALLEL_INSTANCES": instances}, f"scaled to {instances}", form)


@click.command("retry", cls=options.Command)
@options.job
@click.option("--name", "new_name", metavar="NAME", help="Of the new job; else JOB-r2.")
@click.option("--wait/--no-wait", default=True, help="Follow the logs to the end.")
@options.output("name", "json", "yaml")
@options.where
def retry_(name: str, new_name: str | None, *, wait: bool, form: str | None) -> None:
    r"""Run a job that is over once more, as a new one: the old one keeps what is known of it.

    With -o nothing is followed.

    \b
    Examples:
      {program} retry mnist
      {program} retry mnist --name again --no-wait
    """

    async def retried() -> int:
        async with screen.connect() as client:
            made = await client.retry_job(name, new_name)
            job = await client.get_job(made)
            screen.done(job.manifest, "created", form)
            return await submit.followed(client, job) if wait and not form else 0

    sys.exit(screen.run(retried(), "left: the job goes on"))


def _change(name: str, spec: Manifest, word: str, form: str | None) -> None:
    async def sent() -> None:
        async with screen.connect() as client:
            job = await client.get_job(name)
            if job.finished:
                again = f"`{options.program()} retry {name}` runs it anew"
                raise ClientError(f"{name} is over ({job.phase}): {again}")
            if all(job.spec.get(key, False) == value for key, value in spec.items()):
                screen.done(job.manifest, "unchanged", form)
                return
            changed = await client.patch_job(name, {"spec": spec})
            screen.done(changed.manifest, word, form)

    screen.run(sent())
