"""Which group this pod is in: its members' names, the door's port, and the key."""

from __future__ import annotations

import json
import os
import secrets
from typing import Any, Mapping, NamedTuple

HOSTFILE = "hostfile"
MACHINEFILE = "machinefile"
"""The same hosts as MPICH's and Intel's launchers read them."""


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
    me: str
    """This instance's own name."""
    folder: str
    """Where the lists of hosts are written: the attempt's own, though pods may share a memory."""
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
        me=environ["TRAININGJOB_ADDR"],
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
        folder, me = os.path.dirname(environ["TRAININGJOB_HOSTFILE"]), environ["TRAININGJOB_ADDR"]
        with open(_noted(folder, me), encoding="utf-8") as file:
            known: Any = json.load(file)
    except OSError:
        return read(environ, here)
    with open(os.path.join(here, "key"), "rb") as file:
        return Group(**known, here=here, key=file.read())


def write(own: Group) -> None:
    """Write down what later programs need to know; the key stays where it is.

    Raises:
        OSError: when there is no room in the pod's shared memory.
    """
    os.makedirs(own.folder, exist_ok=True)
    # every launcher has its own form
    for name, form in ((HOSTFILE, "{} slots={}\n"), (MACHINEFILE, "{}:{}\n")):
        hosts = [form.format(host, own.slots) for host in own.hosts]
        _replace(os.path.join(own.folder, name), "".join(hosts))
    known = {name: it for name, it in own._asdict().items() if name not in {"here", "key"}}
    _replace(_noted(own.folder, own.me), json.dumps(known))


def _noted(folder: str, me: str) -> str:
    return os.path.join(folder, f"{me.partition('.')[0]}.json")


def _replace(path: str, text: str) -> None:
    """Write a file that is whole at every moment: another pod of the node may write the same."""
    written = f"{path}.{secrets.token_hex(4)}"
    with open(written, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(written, path)


def environment(own: Group) -> Mapping[str, str]:
    """The environment of what is started here: it finds our ssh first."""
    path = os.environ.get("PATH", os.defpath)
    return {**os.environ, "PATH": f"{own.bin}{os.pathsep}{path}"}
