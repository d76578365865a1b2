"""What `doctor --try` runs in every pod: each rank finds the master by name and gives it a word.

It is sent as a script to whatever Python the image has, so it needs the standard library alone.
"""

import contextlib
import os
import socket
import sys
import time

PATIENCE = float(os.environ.get("PATIENCE", "60"))
"""Seconds that a name may be unknown: a DNS server may keep for half a minute that it was."""
ANSWER = 5.0
"""Seconds that one connection may take."""
PAUSE = 0.5
WORD = 16


def main() -> None:
    """Meet the others; the exit code and the last line tell what came of it."""
    host, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    rank, size = os.environ["RANK"], int(os.environ["WORLD_SIZE"])
    if rank == "0":
        receive(size - 1, port)
    else:
        reach(host, port, rank)
    sys.stdout.write(f"rank {rank} has met {'all others' if rank == '0' else host}\n")


def receive(others: int, port: int) -> None:
    """Wait for a word of each of the others: however long their images take to come."""
    with listening(port) as server:
        words = set[bytes]()
        while len(words) < others:
            connection, _ = server.accept()
            connection.settimeout(ANSWER)
            with connection, contextlib.suppress(OSError):
                words |= {connection.recv(WORD)} - {b""}


def listening(port: int) -> socket.socket:
    """Where all addresses of this pod are listened at, of both kinds."""
    if socket.has_dualstack_ipv6():
        return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
    return socket.create_server(("", port))


def reach(host: str, port: int, word: str) -> None:
    """Give the master a word, as soon as it listens.

    Raises:
        SystemExit: when nobody knows its name, or nothing comes through to it.
    """
    limit = time.monotonic() + PATIENCE
    while True:
        try:
            with socket.create_connection((host, port), ANSWER) as connection:
                return connection.sendall(word.encode())
        except ConnectionRefusedError:  # it is there, and its program is not yet
            limit = time.monotonic() + PATIENCE
        except OSError as problem:
            if time.monotonic() > limit:
                sys.exit(f"{host} cannot be reached at port {port}: {problem}")
        time.sleep(PAUSE)


if __name__ == "__main__":
    main()
