"""`submit`: a manifest or a script becomes a job, and what its ranks say is shown at once."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trainingjobs.cli import options, screen
from trainingjobs.cli.commands import following, logs, reading
from trainingjobs.client import script as scripts
from trainingjobs.client.errors import ClientError
from trainingjobs.client.job import Job, Manifest
from trainingjobs.client.script import Script

if TYPE_CHECKING:
    from trainingjobs.client.aio import AsyncTrainingJobClient

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
@click.option("--image", metavar="IMAGE", help=f"Of a script's pods; else ${scripts.IMAGE}.")
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
    exit code is the job's: 0 done, 1 failed. Ctrl-C leaves, and the job goes on. With -o nothing
    is followed.

    \b
    Examples:
      {program} submit job.yaml
      {program} submit train.py -n 4 --image pytorch/pytorch --gpus 1 -- --epochs 3
      {program} submit train.py -n 4 --image pytorch/pytorch --dry-run -o yaml
    """
    short = chosen.pop("short")
    chosen["instances"] = chosen["instances"] or short
    what: Script | Manifest = (
        reading.manifest(file, args, chosen)
        if file.suffix in _MANIFESTS or str(file) == "-"
        else reading.script(file, args, chosen)
    )
    if isinstance(what, Script) and (word := reading.unused(what)) is not None:
        screen.note(word)
    if dry_run:
        _show(what, chosen["name"], file, form or "yaml")
        return
    left = "left: the job goes on"
    screen.run(_submitted(what, chosen["name"], wait=wait, form=form), left)


async def _submitted(
    what: Script | Manifest, name: str | None, *, wait: bool, form: str | None
) -> None:
    async with screen.connect() as client:
        job = await _made(client, what, name)
        screen.done(job.manifest, "created", form)
        if form or not wait:
            return
        told = "namespace" in options.place() or client.namespace != job.namespace
        where = f" -n {job.namespace}" if told else ""
        again = f"{options.program()} cancel {job.name}{where}"
        screen.note(f"Ctrl-C leaves, and the job goes on; `{again}` ends it")
        client.namespace = job.namespace  # a manifest may have its own
        sys.exit(await followed(client, job))


async def _made(client: "AsyncTrainingJobClient", what: Script | Manifest, name: str | None) -> Job:
    if isinstance(what, Script):
        return await client.get_job(await client.train(what, name))
    return await client.create_job(what)


async def followed(client: "AsyncTrainingJobClient", job: Job) -> int:
    """Show what happens to the job until its end; 0 when it has succeeded."""
    last = await following.followed(client, job, _lines(client, job))
    return 0 if last.succeeded else 1


async def _lines(client: "AsyncTrainingJobClient", job: Job) -> None:
    """What the ranks say; where that may not be read, the job's end is waited for all the same."""
    try:
        await logs.stream(client, job)
    except ClientError as error:
        screen.note(f"logs are not shown: {screen.safe(error)}")


def _show(what: Script | Manifest, name: str | None, file: Path, form: str) -> None:
    if isinstance(what, Script):
        told = options.place().get("namespace")
        job = scripts.job(what, name or scripts.name(file.name, "dry"), told or "default")
        found = [job, scripts.config_map(what, job)]
        if told is None:  # who applies it says where
            for item in found:
                del item["metadata"]["namespace"]
    else:
        found = [what]
    if form == "name" or len(found) == 1:
        screen.done(found[0], "created", form)
    else:
        screen.document({"apiVersion": "v1", "kind": "List", "items": found}, form)
