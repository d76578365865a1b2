"""What the process has used of its machine, with all that it has started.

Who waits for a program or for workers of its own waits for its own work. What has ended counts
with its parent, as the kernel counts it, so the sums only grow.
"""

from __future__ import annotations

import os

MOST = 1024
"""Processes, and threads, that are looked at: where there are more, only the own one counts."""
_TICKS = os.sysconf("SC_CLK_TCK")


class Used:
    """Until now."""

    def __init__(self) -> None:
        family = [os.getpid(), *_descendants(os.getpid())]
        times = os.times()
        own = times.user + times.system + times.children_user + times.children_system
        self.cpu = own + sum(map(_cpu, family[1:]))
        """Seconds of CPU."""
        self.io = sum(map(_io, family))
        """Bytes read and written, of files and otherwise."""
        self.waited = _waited(family)

    def starved(self, before: Used) -> float:
        """Seconds for which its threads could have run since, and others did.

        Who gets no core has work to do all the same. Of a thread that has ended nothing is known.
        """
        return (
            sum(
                max(0, waited - before.waited.get(thread, 0))
                for thread, waited in self.waited.items()
            )
            / 1e9
        )


def _descendants(first: int) -> list[int]:
    """What it has started and what these have, as far as they can be seen."""
    try:
        running = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []
    if len(running) > MOST:
        return []
    started: dict[int, list[int]] = {}
    for process in running:
        started.setdefault(_parent(process), []).append(process)
    found = list(started.get(first, ()))
    for process in found:
        found += started.pop(process, ())
    return found


def _parent(process: int) -> int:
    stat = _stat(process)
    return int(stat[1]) if len(stat) > 1 else 0


def _cpu(process: int) -> float:
    """Of the process, and of those that it has waited for."""
    return sum(map(int, _stat(process)[11:15])) / _TICKS


def _stat(process: int) -> list[bytes]:
    """The fields behind its name, which may hold anything."""
    return _read(f"/proc/{process}/stat").rpartition(b")")[2].split()


def _waited(family: list[int]) -> dict[int, int]:
    """Nanoseconds by thread; empty where the kernel does not tell, or it is too much to look at."""
    threads = [(it, thread) for it in family for thread in _threads(it)]
    if len(threads) > MOST:
        return {}
    return {thread: _delay(process, thread) for process, thread in threads}


def _threads(process: int) -> list[int]:
    try:
        return [int(name) for name in os.listdir(f"/proc/{process}/task")]
    except (OSError, ValueError):
        return []


def _delay(process: int, thread: int) -> int:
    try:
        return int(_read(f"/proc/{process}/task/{thread}/schedstat").split()[1])
    except (ValueError, IndexError):
        return 0


def _io(process: int) -> int:
    """0 where the kernel does not tell."""
    try:
        lines = _read(f"/proc/{process}/io").splitlines()[:2]
        return sum(int(line.split()[1]) for line in lines)
    except (ValueError, IndexError):
        return 0


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""
