"""Leave nothing behind, whatever went before.

The same sweep follows an orderly stop and precedes every start, so that a start
works after all processes of an earlier run were killed at once and only their
mounts, links, cgroups and namespaces are left. What is ours is known by our own
names and folders, and by a mark in the environment of our processes.
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
from collections.abc import Iterable, Iterator
from typing import Final

from localcluster import cgroups, host, places, processes
from localcluster.progress import quick

PATIENCE: Final = 15.0
PROXY_TABLES: Final = (("ip", "kube-proxy"), ("ip6", "kube-proxy"))
KEPT: Final = frozenset({"images", "log", "lock", "host.json"})


def sweep(at: places.Places) -> None:
    """Remove everything of an earlier run but the images and the logs."""
    processes.until(lambda: not kill(at), PATIENCE)
    unmount(at)
    _unlink()
    _tables()
    processes.until(cgroups.remove, PATIENCE)
    _files(at)
    host.tidy(at)
    host.restore(at.note)


def purge(at: places.Places) -> None:
    """Remove the images and the logs as well."""
    shutil.rmtree(at.state, ignore_errors=True)


def kill(at: places.Places) -> int:
    """Kill every process of ours; how many there were."""
    found = list(marked(at))
    for pid in found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return len(found) + cgroups.kill()


def marked(at: places.Places) -> Iterator[int]:
    """The processes that carry the mark of this cluster in their environment."""
    mark = f"{places.MARK}={at.state}".encode()
    for entry in pathlib.Path("/proc").iterdir():
        if (
            entry.name.isdigit()
            and mark in _environment(entry)
            and processes.started(int(entry.name))
        ):
            yield int(entry.name)


def _environment(entry: pathlib.Path) -> list[bytes]:
    try:
        return (entry / "environ").read_bytes().split(b"\0")
    except OSError:
        return []


def below(mounts: Iterable[str], at: places.Places) -> list[str]:
    """The mount points of /proc/self/mounts that lie in our folders, the last mounted first."""
    points = [line.split()[1].encode().decode("unicode_escape") for line in mounts]
    ours = (f"{at.state}/", f"{at.run}/")
    return [point for point in reversed(points) if point.startswith(ours)]


def unmount(at: places.Places) -> None:
    """Unmount all that lies in our folders."""
    if points := below(pathlib.Path("/proc/self/mounts").read_text().splitlines(), at):
        subprocess.run(["umount", "--lazy", *points], capture_output=True, check=False)


def _unlink() -> None:
    """Remove our links; those of pods go with their namespaces, a moment later."""
    for link in (places.BRIDGE, places.VETH):
        if pathlib.Path(f"/sys/class/net/{link}").exists():
            quick(["ip", "link", "delete", link])
    processes.until(lambda: not _routes(), PATIENCE)


def _routes() -> str:
    return quick(["ip", "route", "show", "root", places.PODS])


def _tables() -> None:
    """Remove our table, and the proxy's: its name is everybody's, so only where ours was."""
    present = tables()
    own = ("inet", places.TABLE)
    if own not in present:
        return
    for family, name in (*PROXY_TABLES, own):
        if (family, name) in present:
            quick(["nft", "delete", "table", family, name])


def tables() -> set[tuple[str, str]]:
    """The packet filter's tables."""
    listed = json.loads(quick(["nft", "--json", "list", "tables"]))["nftables"]
    found = [item["table"] for item in listed if "table" in item]
    return {(table["family"], table["name"]) for table in found}


def _files(at: places.Places) -> None:
    shutil.rmtree(at.run, ignore_errors=True)
    for entry in at.state.glob("*"):
        if entry.is_dir() and entry.name not in KEPT:
            shutil.rmtree(entry, ignore_errors=True)
        elif entry.name not in KEPT:
            entry.unlink()
