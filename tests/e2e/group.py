"""One rank of a tiny group, with the standard library alone: it meets, makes steps, leaves.

Its text is the command of the pods, so it starts in a moment where torch would take many. As
in real training, all ranks wait for each other in every step, and a lost peer ends them all.

STEPS says how many steps of a second it makes; FAIL says which rank ends itself after the
first step and with which code, as `1:3`. Both may name one value for each attempt, as `600,3`.
"""

import json
import os
import socket
import sys
import time

RANK = int(os.environ["RANK"])
SIZE = int(os.environ["WORLD_SIZE"])
ADDRESS = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
ATTEMPT = int(os.environ["TRAININGJOB_ATTEMPT"])
SHOWN = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "TRAININGJOB_ATTEMPT")


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def leave(text: str, code: int) -> None:
    """Print the last line and end with a code, as a script that fails does."""
    say(text)
    os._exit(code)


def meet() -> list[socket.socket]:
    """Connections to the peers: the master has all the others, a worker has the master."""
    if RANK:
        return [join()]
    with socket.create_server(("", ADDRESS[1]), backlog=SIZE) as server:
        return [server.accept()[0] for _ in range(SIZE - 1)]


def join() -> socket.socket:
    """The connection to the master, which may not be there yet, nor its name."""
    while True:
        try:
            return socket.create_connection(ADDRESS, timeout=300)
        except OSError:
            time.sleep(0.2)


def step(peers: list[socket.socket]) -> None:
    """Wait for all, then go on together."""
    if RANK:
        peers[0].sendall(b".")
    for peer in peers:
        if not peer.recv(1):
            raise ConnectionError("connection closed by peer")
    if not RANK:
        time.sleep(1)
        for peer in peers:
            peer.sendall(b".")


def of_attempt(name: str, otherwise: str) -> str:
    """The value of a variable for this attempt; the last one is that of all later attempts."""
    values = os.environ.get(name, otherwise).split(",")
    return values[min(ATTEMPT, len(values)) - 1]


def main() -> None:
    """Live through one attempt."""
    say(json.dumps({name: os.environ[name] for name in SHOWN}))
    steps = int(of_attempt("STEPS", "2"))
    failing, code = map(int, of_attempt("FAIL", "-1:0").split(":"))
    peers = meet()
    say("all ranks are here")
    for number in range(1, steps + 1):
        try:
            step(peers)
        except OSError as error:
            leave(f"lost a peer: {error}", 1)
        say(f"step {number}")
        if failing == RANK:
            leave(f"rank {RANK} has no data", code)


main()
