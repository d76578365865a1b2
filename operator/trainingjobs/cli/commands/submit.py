"""`submit`: a manifest or a script becomes a job, and what its ranks say is shown at once."""

import asyncio
import sys
from collections.abc import Iterable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import click

from trainingjobs.cli import options, screen
from trainingjobs.cli.commands import logs, reading
from trainingjobs.client import script as scripts
from trainingjobs.client.aio import AsyncTrainingJobClient
from trainingjobs.client.job import Job, Manifest
from trainingjobs.client.script import Script

_MANIFESTS = {".yaml", ".yml", ".json"}


def _number_or_name(
    ctx: click.Context, param: click.Parameter, values: tuple[str, ...]
) -> int | None:
    """`-n 4` are instances, as everywhere else `-n lab` is a namespace."""
    del param
    names = [value for value in values if not value.isdecimal()]
    if names:
        options.remember(ctx, "namespace", names[-1])
    return next((int(value) for value in reversed(values) if value.isdecimal()), None)


def _pairs(ctx: click.Context, param: click.Parameter, values: Iterable[str]) -> dict[str, str]:
    found = dict(value.partition("=")[::2] for value in values)
    if any("=" not in value for value in values):
        raise click.BadParameter("write NAME=VALUE", ctx, param)
    return found


@click.command("submit", cls=options.Command)
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.argument("args", nargs=-1)
@click.option(
    "-n",
    "short",
    multiple=True,
    metavar="N",
    callback=_number_or_name,
    help="Pods, where it is a number; else the namespace.",
)
@click.option("--instances", type=click.IntRange(1), metavar="N", help="Pods of the group.")
@click.option("--name", metavar="NAME", help="The job's name; else made from the file's.")
@click.option("--image", metavar="IMAGE", help=f"Of a script's pods; else ${reading.IMAGE}.")
@click.option(
    "--include",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    multiple=True,
    metavar="FILE",
    help="A file that the script imports.",
)
@click.option("--env", multiple=True, metavar="NAME=VALUE", callback=_pairs, help="A variable.")
@click.option("--gpus", type=click.IntRange(0), default=0, metavar="N", help="Of each pod.")
@click.option("--cpus", metavar="N", help="Of each pod, as 2 or 500m.")
@click.option("--memory", metavar="SIZE", help="Of each pod, as 4Gi.")
@click.option("--processes", metavar="N", help="In each pod, started by torchrun; or auto.")
@click.option("--torchrun/--no-torchrun", default=None, help="No: the script starts them itself.")
@click.option("--framework", metavar="NAME", help="PyTorch (the default), TensorFlow, JAX, None.")
@click.option("--max-restarts", type=click.IntRange(0), metavar="N", help="After failures.")
@click.option(
    "--user",
    type=click.IntRange(1),
    metavar="UID",
    help="Runs as this user, which restricted namespaces ask for.",
)
@click.option("--wait/--no-wait", default=True, help="Follow the logs to the end.")
@click.option("--dry-run", is_flag=True, help="Show what would be made, and make nothing.")
@options.output("yaml", "json", "name")
@options.namespace
@options.cluster
def submit_(
    file: Path,
    args: tuple[str, ...],
    *,
    wait: bool,
    dry_run: bool,
    form: str | None,
    **chosen: Any,
) -> None:
    r"""Run a manifest or a script as a job, and follow its logs.

    A script travels in a ConfigMap of the job, with the files of --include: no image is built. The
    exit code is the job's: 0 done, 1 failed. Ctrl-C leaves, and the job goes on.

    \b
    Examples:
      {program} submit job.yaml
      {program} submit train.py -n 4 --image pytorch/pytorch --gpus 1 -- --epochs 3
      {program} submit train.py -n 4 --dry-run -o yaml
    """
    chosen["instances"] = chosen["instances"] or chosen.pop("short")
    what: Script | Manifest = (
        reading.manifest(file, args, chosen)
        if file.suffix in _MANIFESTS or str(file) == "-"
        else reading.script(file, args, chosen)
    )
    if dry_run:
        _show(what, chosen["name"], file, form or "yaml")
        return
    left = "left: the job goes on"
    screen.run(_submitted(what, chosen["name"], wait=wait, form=form), left)


async def _submitted(
    what: Script | Manifest, name: str | None, *, wait: bool, form: str | None
) -> None:
    async with screen.connect() as client:
        made = (
            await client.train(what, name)
            if isinstance(what, Script)
            else (await client.create_job(what)).name
        )
        job = await client.get_job(made)
        if form in {"yaml", "json"}:
            screen.document(job.manifest, form)
        else:
            click.echo(f"trainingjob.trainingjob.dev/{made}" + ("" if form else " created"))
        if not wait:
            return
        program = options.program()
        screen.note(f"Ctrl-C leaves, and the job goes on; `{program} cancel {made}` ends it")
        sys.exit(await followed(client, job))


async def followed(client: AsyncTrainingJobClient, job: Job) -> int:
    """Show what happens to the job until its end; 0 when it has succeeded."""
    telling = asyncio.create_task(_told(client, job.name))
    try:
        await logs.stream(client, job)
    finally:
        telling.cancel()
        await asyncio.gather(telling, return_exceptions=True)
    return 0 if (await client.get_job(job.name)).succeeded else 1


async def _told(client: AsyncTrainingJobClient, name: str) -> None:
    """What the job waits for, as long as nothing else is heard of it."""
    said = ""
    async with aclosing(client.watch_job(name)) as states:
        async for job in states:
            if job.finished:
                return
            words = screen.safe(f"{job.phase}: {job.message}" if job.message else job.phase)
            if job.phase != "Running" and words and words != said:
                screen.note(f"--- {words} ---")
            said = words


def _show(what: Script | Manifest, name: str | None, file: Path, form: str) -> None:
    if isinstance(what, Script):
        namespace = options.place().get("namespace", "default")
        job = scripts.job(what, name or scripts.name(file.name, "dry"), namespace)
        found = [job, scripts.config_map(what, job)]
    else:
        found = [what]
    if form == "name":
        click.echo(f"trainingjob.trainingjob.dev/{found[0]['metadata'].get('name')}")
    elif len(found) == 1:
        screen.document(found[0], form)
    else:
        screen.document({"apiVersion": "v1", "kind": "List", "items": found}, form)
