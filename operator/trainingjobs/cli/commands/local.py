"""What `run-local` does: a group of processes, of which none outlives the command."""

import asyncio
import os
import shutil
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from trainingjobs.cli import processes, screen
from trainingjobs.cli.views import loglines
from trainingjobs.client import local
from trainingjobs.client.lines import LogLine
from trainingjobs.model.job import Invalid


def run(script: Path, args: tuple[str, ...], chosen: Mapping[str, str | int | None]) -> NoReturn:
    """Run the group, and end with its exit code."""
    count, each = int(chosen["instances"] or 1), int(chosen["processes"] or 1)
    group = local.job(count, each, str(chosen["framework"]))
    if isinstance(group, Invalid):
        raise screen.Failure(str(group))
    python = chosen["python"] or shutil.which("python") or sys.executable
    torchrun = each > 1 and bool(chosen["torchrun"])
    command = local.command(str(python), str(script), args, torchrun=torchrun)
    ports = _free_ports(count)
    gpus = local.devices(os.environ, (item.name for item in Path("/dev").iterdir()))
    environments = local.environments(group, ports, os.cpu_count() or 1, os.environ, gpus)
    sys.exit(screen.run(_group(command, environments), "stopped"))


async def _group(command: Sequence[str], environments: Sequence[Mapping[str, str]]) -> int:
    """Run all; the exit code of the first that fails, else 0; of a signal a shell's code for it."""
    look = loglines.Look(
        width=len(str(len(environments) - 1)) if len(environments) > 1 else 0,
        terminal=screen.at_terminal(),
        coloured=screen.coloured(),
    )
    told = _signals()
    try:
        return await ended(command, environments, look)
    except asyncio.CancelledError:
        if not told:
            raise
        screen.note("\nstopped")
        return local.exit_code(-told[0])


async def ended(
    command: Sequence[str], environments: Sequence[Mapping[str, str]], look: loglines.Look
) -> int:
    """Run all; the exit code of the first that fails. None of them is left, whatever happens."""
    group = processes.Group(lambda rank, lines: _show(rank, lines, look))
    try:
        for env in environments:
            await _start(group, command, env)
        first = await group.first_failure()
        if first is None:
            return 0
        code = local.exit_code(first[1])
        screen.note(f"--- rank {first[0]} fell first, with exit code {code} ---")
        return code
    finally:
        await group.stop()


def _signals() -> list[int]:
    """What tells us to stop, once it has: each cancels the work, and the second its patience."""
    told: list[int] = []
    loop, task = asyncio.get_running_loop(), asyncio.current_task()

    def stop(number: int) -> None:
        told.append(number)
        if task is not None:
            task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup wants it so
            loop.add_signal_handler(number, stop, number)
    return told


async def _start(group: processes.Group, command: Sequence[str], env: Mapping[str, str]) -> None:
    try:
        await group.start(command, env)
    except OSError as error:
        raise screen.Failure(f"{command[0]}: {error.strerror}") from error


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
