"""What the process has used of its machine, with all that it has started.

Who waits for a program or for workers of its own waits for its own work. What has ended counts
with its parent, as the kernel counts it, so the sums only grow.
"""

from __future__ import annotations

import os
from typing import Tuple

MOST = 1024
"""Processes, and threads, that are looked at: where there are more, only the own one counts."""
Times = Tuple[int, int, int]
"""Of a thread: nanoseconds that it waited for a core, how often it got one, and how often one was
taken away from it."""
_FORCED = b"\nnonvoluntary_ctxt_switches:"
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
        self.threads = _threads_of(family)

    def starved(self, before: Used) -> float:
        """Seconds for which its threads would have run since, and others did.

        Who gets no core has work to do all the same: it goes on until the core is taken away, by
        others or by a limit of its group. One that only looks now and then waits for a core as
        well, each time that it wakes, and gives it back by itself: that is no work. So of all
        waiting the share counts that began against its will. Of a thread that was not there
        before, or is not there any more, nothing is known.
        """
        both = self.threads.keys() & before.threads.keys()
        return sum(_starved(before.threads[it], self.threads[it]) for it in both) / 1e9


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


def _starved(before: Times, now: Times) -> float:
    waited, turns, forced = (max(0, b - a) for a, b in zip(before, now))
    return waited * min(1.0, forced / turns) if turns else 0.0


def _threads_of(family: list[int]) -> dict[int, Times]:
    """All, by number; none where it is too much to look at."""
    threads = [(it, thread) for it in family for thread in _threads(it)]
    if len(threads) > MOST:
        return {}
    return {thread: _times(process, thread) for process, thread in threads}


def _threads(process: int) -> list[int]:
    try:
        return [int(name) for name in os.listdir(f"/proc/{process}/task")]
    except (OSError, ValueError):
        return []


def _times(process: int, thread: int) -> Times:
    """Zeros where the kernel does not tell."""
    place = f"/proc/{process}/task/{thread}"
    try:
        _, waited, turns = _read(f"{place}/schedstat").split()
        forced = _read(f"{place}/status").partition(_FORCED)[2].split()[0]
        return int(waited), int(turns), int(forced)
    except (ValueError, IndexError):
        return 0, 0, 0


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
