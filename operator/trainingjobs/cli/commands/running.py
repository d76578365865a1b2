"""`run-local`: a group of processes on this machine, for which no cluster is needed."""

from pathlib import Path

import click

from trainingjobs.cli import options

HERE = ("PyTorch", "TensorFlow", "JAX", "None")
"""Frameworks whose processes need nobody else to start them."""


@click.command("run-local", cls=options.Command)
@click.argument("script", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("args", nargs=-1)
@click.option(
    "-n", "--instances", type=click.IntRange(1, 1000), default=2, help="As pods would be."
)
@click.option("--processes", type=click.IntRange(1, 64), default=1, help="In each, by torchrun.")
@click.option("--torchrun/--no-torchrun", default=True, help="No: the script starts them itself.")
@click.option("--framework", type=click.Choice(HERE), default="PyTorch", help="Whose environment.")
@click.option("--python", metavar="PATH", help="The interpreter; else the python of your PATH.")
def run_local_(script: Path, args: tuple[str, ...], **chosen: str | int | None) -> None:
    r"""Run a script as a group of processes on this machine.

    Each has the environment that its pod would have. The first that fails ends the others, and
    its exit code is the command's.

    \b
    Examples:
      {program} run-local -n 3 train.py
      {program} run-local -n 2 --processes 2 train.py -- --epochs 3
    """
    from trainingjobs.cli.commands import local  # noqa: PLC0415  not for help

    local.run(script, args, chosen)
