"""Is a port free, and if not, who has it?

A component that finds its port taken dies with a line in a log file. Asking
first turns that into a sentence with the name of the program that is in the way.
"""

import socket
from collections.abc import Iterable, Sequence
from typing import Final

import psutil

from localcluster import errors, places

Port = tuple[str, int]
ANY: Final = frozenset({"0.0.0.0", "::", ""})  # noqa: S104 - compared with, never bound to
FIXED: Final[tuple[Port, ...]] = (
    ("0.0.0.0", places.API_PORT),  # noqa: S104 - the API server's own address
    ("127.0.0.1", places.ETCD_PORT),
    ("127.0.0.1", places.ETCD_PEER_PORT),
    ("127.0.0.1", places.CONTROLLERS_PORT),
    ("127.0.0.1", places.SCHEDULER_PORT),
    (places.GATEWAY, places.DNS_PORT),
)


def needed(nodes: Sequence[places.Node]) -> list[Port]:
    """Every port that the cluster listens on in the host's network."""
    own = [port for node in nodes if node.namespace is None for port in places.node_ports(node)]
    return [*FIXED, *own]


def check(wanted: Sequence[Port]) -> None:
    """Say who holds the ports that are taken, if any are."""
    if taken := conflicts(wanted, _listening()):
        lines = "\n".join(
            f"  {address}:{port} is held by {_holder(pid)}" for address, port, pid in taken
        )
        raise errors.ClusterError(
            f"ports that the local cluster needs are taken:\n{lines}\n"
            "End those programs if they are yours, and start again."
        )


def conflicts(
    wanted: Sequence[Port], listening: Iterable[tuple[str, int, int | None]]
) -> list[tuple[str, int, int | None]]:
    """The listeners that stand in the way of the wanted ports."""
    return sorted(
        {
            (address, port, pid)
            for address, port, pid in listening
            for own, number in wanted
            if port == number and (address == own or address in ANY or own in ANY)
        },
        key=lambda found: (found[1], found[0]),
    )


def describe(pid: int | None, command: Sequence[str]) -> str:
    """A process for a person: its id and its command line."""
    if pid is None:
        return "a process that this user may not see (look with: ss -lntup)"
    line = " ".join(" ".join(command).split())
    return f"process {pid} ({line[:100] or 'gone'})"


def _holder(pid: int | None) -> str:
    try:
        command = psutil.Process(pid).cmdline() if pid else []
    except psutil.Error:
        command = []
    return describe(pid, command)


def _listening() -> list[tuple[str, int, int | None]]:
    return [
        (found.laddr.ip, found.laddr.port, found.pid)
        for found in psutil.net_connections(kind="inet")
        if found.laddr and (found.status == psutil.CONN_LISTEN or found.type == socket.SOCK_DGRAM)
    ]
