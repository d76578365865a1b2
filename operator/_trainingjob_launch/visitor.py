"""One connection at a door: who is it, what does it want, and what comes of it."""

from __future__ import annotations

import errno
import os
import signal
import socket
import threading
import time
from typing import IO

from _trainingjob_launch import group, wire
from _trainingjob_launch.children import Children
from _trainingjob_launch.group import Group

HANDSHAKE_SECONDS = 5.0
"""For all that is said before it is known who knocks."""
_DRAIN_SECONDS = 1.0
"""How long output may follow the exit: a process in the background may hold the pipe for ever."""


class RefusedError(Exception):
    """Who knocks is not let in."""


def request(sock: socket.socket, own: Group) -> tuple[str, str]:
    """The purpose and the command of somebody who knows the key.

    Raises:
        OSError: when the connection breaks.
        RefusedError: when it does not prove that it may.
        WireError: when what it says makes no sense, or takes too long.
    """
    due = time.monotonic() + HANDSHAKE_SECONDS
    asked = wire.read_line(sock, wire.MAX_HELLO, HANDSHAKE_SECONDS).get("nonce", "")
    talk = wire.Talk(own.attempt, own.me, asked, wire.nonce())
    known = {"attempt": own.attempt, "worker": own.me, "nonce": talk.answered}
    sock.settimeout(HANDSHAKE_SECONDS)
    sock.sendall(wire.pack({**known, "mac": talk.of_door(own.key)}))
    said = wire.read_line(sock, wire.MAX_LINE, due - time.monotonic())
    purpose, command = said.get("purpose", ""), said.get("command", "")
    if not wire.same(talk.of_launcher(own.key, purpose, command), said.get("mac", "")):
        raise RefusedError("wrong key")
    return purpose, command


class Answer:
    """What goes back; who has hung up is told no more, and what runs for it runs on."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._lock = threading.Lock()
        self._deaf = False

    def send(self, kind: bytes, data: bytes) -> None:
        """Send one piece."""
        with self._lock:
            if self._deaf:
                return
            try:
                self._sock.sendall(wire.frame(kind, data))
            except OSError:
                self._deaf = True


def run(command: str, own: Group, children: Children, answer: Answer) -> int:
    """Run a command for somebody; its exit code.

    Raises:
        OSError: when it cannot be started.
    """
    process = children.start(command, group.environment(own))
    try:
        pumps = [_pump(process.stdout, wire.OUT, answer), _pump(process.stderr, wire.ERR, answer)]
    except RuntimeError:  # nobody would read what it says
        os.killpg(process.pid, signal.SIGKILL)
        raise OSError(errno.EAGAIN, "no room for another thread") from None
    code = children.wait(process)
    for pump in pumps:
        pump.join(_DRAIN_SECONDS)
    return code


def _pump(stream: IO[bytes] | None, kind: bytes, answer: Answer) -> threading.Thread:
    thread = threading.Thread(target=_copy, args=(stream, kind, answer), daemon=True)
    thread.start()
    return thread


def _copy(stream: IO[bytes], kind: bytes, answer: Answer) -> None:
    """Read on when nobody listens any more: a full pipe would stop what writes."""
    with stream:
        while True:
            data = os.read(stream.fileno(), wire.MAX_FRAME)
            if not data:
                return
            answer.send(kind, data)
