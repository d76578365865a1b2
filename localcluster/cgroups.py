"""The cgroups that hold the pods, one tree per node.

They are made by hand, since two kubelets on one machine would otherwise share
one tree and end each other's pods. They are also the surest way to find what a
killed containerd left running.
"""

import contextlib
import os
import pathlib
import signal
from collections.abc import Iterator
from typing import Final

from localcluster import places

ROOT: Final = pathlib.Path("/sys/fs/cgroup")
CPUSET: Final = ("cpuset.cpus", "cpuset.mems")


def make(node: places.Node) -> None:
    """Make the node's cgroup in every hierarchy of this machine."""
    for hierarchy in _hierarchies():
        _delegate(hierarchy)
        own = hierarchy / node.cgroup
        own.mkdir(exist_ok=True)
        if (own / "cgroup.controllers").exists():
            continue
        for name in CPUSET:  # version 1 starts with empty ones, in which nothing can run
            if (own / name).exists():
                (own / name).write_text((hierarchy / name).read_text())


def kill() -> int:
    """Kill every process in a cgroup of ours; how many there were."""
    found = set(_members())
    for pid in found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return len(found)


def remove() -> bool:
    """Remove our cgroups; True when none is left."""
    for folder in sorted(_ours(), key=lambda path: len(path.parts), reverse=True):
        with contextlib.suppress(OSError):
            folder.rmdir()
    return not any(True for _ in _ours())


def _members() -> Iterator[int]:
    for folder in _ours():
        with contextlib.suppress(OSError):
            yield from map(int, (folder / "cgroup.procs").read_text().split())


def _ours() -> Iterator[pathlib.Path]:
    for hierarchy in _hierarchies():
        for top in hierarchy.glob(f"{places.CGROUP}node-*"):
            yield top
            yield from (path for path in top.rglob("*") if path.is_dir())


def _hierarchies() -> list[pathlib.Path]:
    if (ROOT / "cgroup.controllers").exists():
        return [ROOT]
    return [path for path in ROOT.iterdir() if path.is_dir() and (path / "cgroup.procs").exists()]


def _delegate(hierarchy: pathlib.Path) -> None:
    available = hierarchy / "cgroup.controllers"
    if not available.exists():
        return
    for controller in available.read_text().split():
        with contextlib.suppress(OSError):
            (hierarchy / "cgroup.subtree_control").write_text(f"+{controller}")
