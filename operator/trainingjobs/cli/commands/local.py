"""`run-local`: a group of processes on this machine, for which no cluster is needed."""

import asyncio
import os
import shutil
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import click

from trainingjobs.cli import options, screen
from trainingjobs.cli.views import loglines
from trainingjobs.client import local
from trainingjobs.client.lines import LogLine, Splitter
from trainingjobs.model.job import Invalid
from trainingjobs.model.spec import Framework

_GRACE = 10.0
_CHUNK = 65_536
_HERE = [name.value for name in Framework if name not in {Framework.MPI, Framework.HOROVOD}]


@click.command("run-local", cls=options.Command)
@click.argument("script", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("args", nargs=-1)
@click.option(
    "-n", "--instances", type=click.IntRange(1, 1000), default=2, help="As pods would be."
)
@click.option("--processes", type=click.IntRange(1, 64), default=1, help="In each, by torchrun.")
@click.option("--torchrun/--no-torchrun", default=True, help="No: the script starts them itself.")
@click.option("--framework", type=click.Choice(_HERE), default="PyTorch", help="Whose environment.")
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
    count, processes = int(chosen["instances"] or 1), int(chosen["processes"] or 1)
    group = local.job(count, processes, str(chosen["framework"]))
    if isinstance(group, Invalid):
        raise screen.Failure(str(group))
    python = chosen["python"] or shutil.which("python") or sys.executable
    torchrun = processes > 1 and bool(chosen["torchrun"])
    command = local.command(str(python), str(script), args, torchrun=torchrun)
    ports = _free_ports(count)
    environments = local.environments(group, ports, os.cpu_count() or 1, os.environ)
    sys.exit(screen.run(_group(command, environments), "stopped"))


async def _group(command: Sequence[str], environments: Sequence[Mapping[str, str]]) -> int:
    """Run all; the exit code of the first that fails, else 0."""
    look = loglines.Look(
        width=len(str(len(environments) - 1)) if len(environments) > 1 else 0,
        terminal=screen.at_terminal(),
        coloured=screen.coloured(),
    )
    processes = [await _started(command, env) for env in environments]
    readers = [
        asyncio.create_task(_told(process, rank, look)) for rank, process in enumerate(processes)
    ]
    try:
        first = await _first_failure(processes)
        if first is not None:
            code = local.exit_code(processes[first].returncode or 0)
            await asyncio.wait({readers[first]}, timeout=1)  # its last words come before ours
            screen.note(f"--- rank {first} fell first, with exit code {code} ---")
            await _stopped(processes)
            return code
        return 0
    finally:
        await _stopped(processes)
        await asyncio.gather(*readers)


async def _started(command: Sequence[str], env: Mapping[str, str]) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            *command,
            env=env,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        raise screen.Failure(f"{command[0]}: {error.strerror}") from error


async def _first_failure(processes: Sequence[asyncio.subprocess.Process]) -> int | None:
    waiting = {asyncio.create_task(item.wait()): rank for rank, item in enumerate(processes)}
    while waiting:
        done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        fallen = sorted(waiting[task] for task in done if task.result() != 0)
        if fallen:
            return fallen[0]
        for task in done:
            del waiting[task]
    return None


async def _stopped(processes: Sequence[asyncio.subprocess.Process]) -> None:
    """Tell those that still run to stop, with all that they have started, and see them gone."""
    living = [process for process in processes if process.returncode is None]
    for number in (signal.SIGTERM, signal.SIGKILL):
        for process in living:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, number)
        with suppress(TimeoutError):
            async with asyncio.timeout(_GRACE):
                await asyncio.gather(*(process.wait() for process in living))
                return


async def _told(process: asyncio.subprocess.Process, rank: int, look: loglines.Look) -> None:
    splitter = Splitter()
    assert process.stdout is not None  # noqa: S101  it was asked for
    while data := await process.stdout.read(_CHUNK):
        _show(rank, list(splitter.lines(data)), look)
    _show(rank, list(splitter.last()), look)


def _show(rank: int, lines: Sequence[str], look: loglines.Look) -> None:
    for text in lines:
        line = LogLine(rank=rank, attempt=1, pod=local.NAME, time="", text=text)
        sys.stdout.write(look.line(line) + "\n")
    sys.stdout.flush()


def _free_ports(count: int) -> list[int]:
    """Ports that nobody listens on; they are held until all are known, so that none comes twice."""
    held = [socket.socket() for _ in range(count)]
    try:
        for item in held:
            item.bind((local.HOST, 0))
        return [item.getsockname()[1] for item in held]
    finally:
        for item in held:
            item.close()
