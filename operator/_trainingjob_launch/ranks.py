"""Tells the ranks of this pod to stop, without the launcher.

Open MPI's launcher kills its ranks a moment after it has told them to stop (5.0.7: within 0.3 s,
measured), so that none could save its work. The kubelet tells all pods of a group that goes, and
each tells its own ranks: then they have the whole grace.
"""

from __future__ import annotations

import os
from typing import Iterator

_MARKS = (b"OMPI_COMM_WORLD_RANK=", b"PMI_RANK=", b"HOROVOD_RANK=")


def tell(number: int) -> int:
    """Send a signal to each rank below this process; how many there are."""
    told = 0
    for pid in _ranks(os.getpid(), _children()):
        try:
            if os.getpgid(pid) == pid:
                os.killpg(pid, number)
            else:
                os.kill(pid, number)
        except OSError:
            continue
        told += 1
    return told


def _ranks(above: int, children: dict[int, list[int]]) -> Iterator[int]:
    """Processes with a rank below another; what they have started is theirs to tell.

    Where a pod sees its node's processes, or the tests those of a cluster, others' are not ours.
    """
    waiting = list(children.get(above, ()))
    while waiting:
        pid = waiting.pop()
        if _has_rank(pid):
            yield pid
        else:
            waiting += children.get(pid, ())


def _children() -> dict[int, list[int]]:
    """All processes by their parents."""
    found: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                parent = int(file.read().rpartition(b")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue  # it has ended
        found.setdefault(parent, []).append(int(name))
    return found


def _has_rank(pid: int) -> bool:
    """True when a launcher has given it one."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            variables = file.read().split(b"\0")
    except OSError:
        return False  # it has ended, or is somebody else's
    return any(variable.startswith(_MARKS) for variable in variables)
