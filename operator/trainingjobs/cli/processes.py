"""A group of processes on this machine, of which none is left when it is over.

Each leads a process group of its own, so that all it has started can be ended with it. Its end is
seen apart from the end of its output: a child may hold the pipe long after it has fallen.
"""

import asyncio
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from trainingjobs.client.lines import Splitter

GRACE = 10.0
"""Seconds between the word to stop and the end without a word."""
_POLL, _REAPED = 0.05, 2.0
_CHUNK = 65_536
_REST = 16
"""Reads of what a pipe holds at the end; who has left the group may go on to write."""

Tell = Callable[[int, Sequence[str]], None]


class Output:
    """What one process and its children write, told line by line as it comes."""

    def __init__(self, tell: Callable[[Sequence[str]], None], broken: asyncio.Future[None]) -> None:
        self._source, self.sink = os.pipe()
        os.set_blocking(self._source, False)
        self._tell, self._broken, self._splitter = tell, broken, Splitter()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._source, self._read)

    def rest(self) -> None:
        """Tell what is in the pipe now."""
        for _ in range(_REST):
            if not self._read():
                return

    def close(self) -> None:
        """Tell the rest, and read no more."""
        self.rest()
        self._end()
        os.close(self._source)

    def _read(self) -> bool:
        """Tell what is there; False where there is no more."""
        if self._broken.done():  # nobody reads what we write
            self._loop.remove_reader(self._source)
            return False
        try:
            if data := os.read(self._source, _CHUNK):
                self._tell(list(self._splitter.lines(data)))
            else:
                self._end()
            return bool(data)
        except BlockingIOError:
            return False
        except OSError as error:
            self._broken.set_exception(error)
            return False

    def _end(self) -> None:
        self._loop.remove_reader(self._source)
        if not self._broken.done() and (last := list(self._splitter.last())):
            self._tell(last)


class Group:
    """Ranks, in the order of their starts; `async with` ends them all."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._outputs: list[Output] = []
        self._processes: list[asyncio.subprocess.Process] = []

    async def start(self, command: Sequence[str], env: Mapping[str, str]) -> None:
        """Start the next rank."""
        rank = len(self._outputs)
        output = Output(lambda lines: self._tell(rank, lines), self._broken)
        self._outputs.append(output)
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                env=env,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output.sink,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
            )
        finally:
            os.close(output.sink)
        self._processes.append(process)

    async def first_failure(self) -> tuple[int, int] | None:
        """The first rank that fails, with its exit code; None when all end well.

        Raises:
            OSError: when what they say can be told to nobody any more.
        """
        waiting: dict[asyncio.Future[Any], int] = {
            asyncio.ensure_future(item.wait()): rank for rank, item in enumerate(self._processes)
        }
        while waiting:
            awaited = {*waiting, self._broken}
            done, _ = await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
            if self._broken in done:
                self._broken.result()
            codes = {waiting.pop(task): task.result() for task in done}
            for rank in sorted(codes):
                if codes[rank]:
                    self._outputs[rank].rest()  # its last words come before ours
                    return rank, codes[rank]
        return None

    async def stop(self) -> None:
        """Tell all to stop, and see them gone; whoever interrupts that ends them at once."""
        try:
            self._signal(signal.SIGTERM)
            with suppress(TimeoutError):
                async with asyncio.timeout(GRACE):
                    while any(_lives(item.pid) for item in self._processes):  # noqa: ASYNC110  no event tells it
                        await asyncio.sleep(_POLL)
        finally:
            self._signal(signal.SIGKILL)
            ends = [asyncio.ensure_future(item.wait()) for item in self._processes]
            if ends:
                await asyncio.wait(ends, timeout=_REAPED)
            for output in self._outputs:
                output.close()
            if self._broken.done():
                self._broken.exception()

    def _signal(self, number: signal.Signals) -> None:
        for process in self._processes:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, number)


def _lives(group: int) -> bool:
    """True while the group has a process, though its first one may be gone."""
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True
