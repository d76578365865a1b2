"""Which group this pod is in: its members' names, the door's port, and the key."""

from __future__ import annotations

import json
import os
from typing import Any, Mapping, NamedTuple

HOSTFILE = "hostfile"
MACHINEFILE = "machinefile"
"""The same hosts as MPICH's and Intel's launchers read them."""
_GROUP = "group.json"


class Group(NamedTuple):
    """The group, as each of its pods knows it."""

    size: int
    slots: int
    """Processes of each instance."""
    port: int
    attempt: str
    master: str
    worker: str
    """The workers' names, with their number as `%d`."""
    folder: str
    """Where the lists of hosts are written."""
    here: str
    """Where our programs lie."""
    key: bytes

    @property
    def workers(self) -> list[str]:
        """The full names of all workers."""
        return [self.worker % number for number in range(self.size - 1)]

    @property
    def hosts(self) -> list[str]:
        """The full names of all instances, the master first."""
        return [self.master, *self.workers]

    @property
    def bin(self) -> str:
        """What is on the path of all that is started here."""
        return os.path.join(self.here, "bin")

    def full(self, host: str) -> str:
        """The full name of a worker that a launcher calls by its short one."""
        before, _, after = self.worker.partition("%d")
        number = host[len(before) :]
        return host + after if host.startswith(before) and number.isdigit() else host


def read(environ: Mapping[str, str], here: str) -> Group:
    """The group of this pod.

    Raises:
        KeyError: when a variable is missing.
        OSError: when the key cannot be read.
        ValueError: when a number is none.
    """
    with open(os.path.join(here, "key"), "rb") as file:
        key = file.read()
    return Group(
        size=int(environ["PARALLEL_INSTANCES"]),
        slots=int(environ["LOCAL_WORLD_SIZE"]),
        port=int(environ["MASTER_PORT"]),
        attempt=environ["TRAININGJOB_ATTEMPT"],
        master=environ["MASTER_ADDR"],
        worker=environ["TRAININGJOB_WORKER_ADDR"],
        folder=os.path.dirname(environ["TRAININGJOB_HOSTFILE"]),
        here=here,
        key=key,
    )


def recalled(environ: Mapping[str, str], here: str) -> Group:
    """The group as the container's first program wrote it down, or else that of this pod.

    Variables are the user's to change, once a program of theirs runs.

    Raises:
        KeyError: when a variable is missing.
        OSError: when the key cannot be read.
        ValueError: when a number is none, or what was written is no group.
    """
    try:
        with open(_noted(os.path.dirname(environ["TRAININGJOB_HOSTFILE"])), encoding="utf-8") as it:
            known: Any = json.load(it)
    except OSError:
        return read(environ, here)
    with open(os.path.join(here, "key"), "rb") as file:
        return Group(**known, here=here, key=file.read())


def write(own: Group) -> None:
    """Write down what later programs need to know; the key stays where it is.

    Raises:
        OSError: when there is no room in the pod's shared memory.
    """
    _write_hosts(own)
    known = {name: it for name, it in own._asdict().items() if name not in {"here", "key"}}
    written = f"{_noted(own.folder)}.{os.getpid()}"
    with open(written, "w", encoding="utf-8") as file:
        json.dump(known, file)
    os.replace(written, _noted(own.folder))


def _noted(folder: str) -> str:
    return os.path.join(folder, _GROUP)


def _write_hosts(own: Group) -> None:
    """Write the lists of hosts, for every launcher in its own form."""
    os.makedirs(own.folder, exist_ok=True)
    for name, form in ((HOSTFILE, "{} slots={}\n"), (MACHINEFILE, "{}:{}\n")):
        with open(os.path.join(own.folder, name), "w", encoding="ascii") as file:
            file.writelines(form.format(host, own.slots) for host in own.hosts)


def environment(own: Group) -> Mapping[str, str]:
    """The environment of what is started here: it finds our ssh first."""
    path = os.environ.get("PATH", os.defpath)
    return {**os.environ, "PATH": f"{own.bin}{os.pathsep}{path}"}
