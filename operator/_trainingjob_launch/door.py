"""The door of a worker: it listens for the launcher, and runs what the launcher asks for.

It is its container's first process. Who hangs up leaves what it has started running: MPI's daemons
live on without their connection. Told to stop, it tells its ranks, takes no new commands and waits
for what runs; the kubelet's grace is the limit.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import threading
import time

from _trainingjob_launch import children, group, ranks, visitor, wire
from _trainingjob_launch.group import Group
from _trainingjob_launch.strangers import Strangers

MAX_STRANGERS = 64
"""Connections that have not proved yet who they are."""
MAX_RUNS = 256
_TICK = 1.0
_LEAVE_SECONDS = 5.0
_ANSWER_SECONDS = 2.0
_TOLD_TO_STOP = 128 + signal.SIGTERM


def main(own: Group, _arguments: list[str]) -> int:
    """Serve until told to leave or to stop."""
    group.write(own)
    children.adopt()
    return Door(own).serve()


class Door:
    """A listening socket and what came of its visitors."""

    def __init__(self, own: Group) -> None:
        self._own = own
        self._children = children.Children()
        self._strangers = Strangers(MAX_STRANGERS)
        self._runs = threading.Semaphore(MAX_RUNS)
        self._code: int | None = None
        self._wake_read, self._wake_write = os.pipe()
        self._logged = 0.0

    def serve(self) -> int:
        """Let visitors in until somebody says that it is over; the exit code."""
        self._listen_to_signals()
        with _listening(self._own.port) as listener:
            _log(f"waits for the launcher on port {self._own.port}")
            while self._code is None:
                ready, _, _ = select.select([listener.fileno(), self._wake_read], [], [], _TICK)
                if listener.fileno() in ready:
                    self.accept(listener)
                self._rest(woken=self._wake_read in ready)
        return self._see_off(self._code)

    def _see_off(self, code: int) -> int:
        """Wait for what runs: as long as the kubelet lets us, or some seconds when all is done."""
        due = time.monotonic() + _LEAVE_SECONDS
        if code:
            ranks.tell(signal.SIGTERM)
        while not self._children.reap() and (code or time.monotonic() < due):
            ready, _, _ = select.select([self._wake_read], [], [], _TICK)
            self._rest(woken=self._wake_read in ready)
        for _ in range(MAX_RUNS):  # the last exit codes are on their way back
            if not self._runs.acquire(timeout=_ANSWER_SECONDS):
                break
        return code

    def _rest(self, *, woken: bool) -> None:
        if woken:
            os.read(self._wake_read, 4096)
        self._children.reap()

    def _listen_to_signals(self) -> None:
        os.set_blocking(self._wake_write, False)
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: self._end(_TOLD_TO_STOP))

    def _end(self, code: int) -> None:
        self._code = code
        os.write(self._wake_write, b"!")

    def accept(self, listener: socket.socket) -> None:
        """Let somebody in, where there is room."""
        try:
            sock, address = listener.accept()
        except OSError:
            return
        whom = str(address[0])
        if not self._strangers.welcome(sock, whom):
            self._complain("too many connections at once")
        try:
            threading.Thread(target=self._receive, args=(sock, whom), daemon=True).start()
        except RuntimeError:  # as many processes as there may be
            self._strangers.forget(sock)
            sock.close()
            self._complain("no room for another thread")

    def _receive(self, sock: socket.socket, whom: str) -> None:
        with sock:
            try:
                purpose, command = visitor.request(sock, self._own)
            except visitor.RefusedError as error:
                visitor.Answer(sock).send(wire.NO, str(error).encode())
                self._complain(f"refused {whom}: {error}")
                return
            except (OSError, wire.WireError):
                return  # a probe, or somebody who speaks another language
            finally:
                self._strangers.forget(sock)
            self._serve(sock, purpose, command)

    def _serve(self, sock: socket.socket, purpose: str, command: str) -> None:
        answer = visitor.Answer(sock)
        if purpose == wire.RUN:
            self._run(sock, command, answer)
            return
        answer.send(wire.EXIT, b"0")
        if purpose == wire.LEAVE:
            _log("the launcher is done")
            self._end(0)

    def _run(self, sock: socket.socket, command: str, answer: visitor.Answer) -> None:
        if self._code is not None or not self._runs.acquire(blocking=False):
            answer.send(wire.NO, b"takes no more commands")
            return
        wire.keep_alive(sock)
        try:
            code = visitor.run(command, self._own, self._children, answer)
        except (OSError, ValueError) as error:
            answer.send(wire.NO, f"cannot start a shell: {error}".encode())
        else:
            answer.send(wire.EXIT, str(code).encode())
        finally:
            self._runs.release()

    def _complain(self, words: str) -> None:
        """At most one line each second: anybody can knock."""
        now = time.monotonic()
        if now - self._logged >= 1:
            self._logged = now
            _log(words)


def _listening(port: int) -> socket.socket:
    """A listener for both families, or for the one that there is."""
    if socket.has_dualstack_ipv6():
        try:
            return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
        except OSError:
            _log("no IPv6 here")
    return socket.create_server(("", port))


def _log(words: str) -> None:
    print(f"door: {words}", file=sys.stderr, flush=True)
