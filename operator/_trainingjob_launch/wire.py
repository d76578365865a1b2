"""What goes over the wire: each side's proof, a request, then frames of output and an exit code.

Nothing is encrypted. Each side signs both sides' nonces, so what was sent once cannot be sent
again, and the attempt and the worker's name, so that no other pod is commanded or believed. The
door proves itself first: a command is told to nobody else.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import socket
import struct
import time
from typing import Any, Iterator, NamedTuple

from _trainingjob_launch.group import Group

HELLO, RUN, LEAVE = "hello", "run", "leave"
OUT, ERR, EXIT, NO = b"o", b"e", b"x", b"n"
MAX_LINE = 262_144
"""Linux lets an argument be half as long."""
MAX_HELLO = 4096
"""Of what is said before anything is proved."""
MAX_FRAME = 65_536
CONNECT_SECONDS = 5.0
_QUOTED = 100
ANSWER_SECONDS = 10.0
_HEAD = struct.Struct(">cI")
_ALIVE = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 6))


class WireError(Exception):
    """The other side cannot be reached, refuses, or says what makes no sense."""


class ImpostorError(WireError):
    """Who listens there is not the worker, or the key is not the job's."""


class Talk(NamedTuple):
    """One connection, as both sides know it; no two are alike."""

    attempt: str
    worker: str
    asked: str
    """The launcher's nonce."""
    answered: str
    """The door's nonce."""

    def of_door(self, key: bytes) -> str:
        """The proof that the worker which is meant listens."""
        return self._sign(key, "door")

    def of_launcher(self, key: bytes, purpose: str, command: str) -> str:
        """The proof that who asks for this may."""
        return self._sign(key, "launcher", purpose, command)

    def _sign(self, key: bytes, *words: str) -> str:
        text = json.dumps([*words, *self]).encode()
        return hmac.new(key, text, hashlib.sha256).hexdigest()


def nonce() -> str:
    """What nobody has said before."""
    return secrets.token_hex(16)


def same(proof: str, said: str) -> bool:
    """True when what somebody says is the proof; how long that takes tells nothing."""
    return hmac.compare_digest(proof.encode(), encoded(said))


def pack(message: dict[str, str]) -> bytes:
    """One line."""
    return encoded(json.dumps(message, ensure_ascii=False)) + b"\n"


def encoded(text: str) -> bytes:
    """Its bytes, those of an argument that are no UTF-8 included.

    Raises:
        ValueError: when it can be none.
    """
    return text.encode(errors="surrogateescape")


def read_line(sock: socket.socket, limit: int, seconds: float) -> dict[str, str]:
    """One line that comes within these seconds, however slowly.

    Raises:
        WireError: when it does not come, is too long, or is none of ours.
        OSError: when the connection breaks.
    """
    due, data = time.monotonic() + seconds, b""
    while not data.endswith(b"\n"):
        if len(data) > limit:
            raise WireError("it says more than a request may have")
        left = due - time.monotonic()
        if left <= 0:
            raise WireError("no answer")
        sock.settimeout(left)
        try:
            chunk = sock.recv(limit + 1 - len(data))
        except socket.timeout:
            continue
        if not chunk:
            raise WireError("it hung up")
        data += chunk
    return _unpacked(data)


def _unpacked(data: bytes) -> dict[str, str]:
    try:
        message: Any = json.loads(data.decode(errors="surrogateescape"))
        encoded(json.dumps(message, ensure_ascii=False))
    except (ValueError, RecursionError):
        raise WireError("it speaks another language") from None
    if not isinstance(message, dict) or not all(isinstance(it, str) for it in message.values()):
        raise WireError("it speaks another language")
    return message


def frame(kind: bytes, data: bytes) -> bytes:
    """One piece of an answer."""
    return _HEAD.pack(kind, len(data)) + data


def frames(sock: socket.socket) -> Iterator[tuple[bytes, bytes]]:
    """The pieces of an answer, until the other side hangs up.

    Raises:
        OSError: when the connection breaks.
        WireError: when a piece is too large, or ends early.
    """
    with sock.makefile("rb") as stream:
        while True:
            head = stream.read(_HEAD.size)
            if not head:
                return
            kind, size = _HEAD.unpack(head) if len(head) == _HEAD.size else (b"", 0)
            data = stream.read(size) if size <= MAX_FRAME else b""
            if not kind or len(data) != size:
                raise WireError("its answer makes no sense")
            yield kind, data


def dial(own: Group, host: str, purpose: str, command: str = "") -> socket.socket:
    """A connection to a worker's door that has been told what is wanted.

    Raises:
        WireError: with the reason in words.
    """
    sock = _connected(host, own.port)
    try:
        sock.settimeout(ANSWER_SECONDS)
        asked = nonce()
        sock.sendall(pack({"worker": host, "nonce": asked}))
        talk = _proven(own, host, asked, read_line(sock, MAX_HELLO, ANSWER_SECONDS))
        mac = talk.of_launcher(own.key, purpose, command)
        sock.settimeout(ANSWER_SECONDS)
        sock.sendall(pack({"purpose": purpose, "command": command, "mac": mac}))
    except OSError as error:
        sock.close()
        raise WireError(f"it hung up: {error.strerror or error}") from None
    except WireError:
        sock.close()
        raise
    return sock


def _proven(own: Group, host: str, asked: str, said: dict[str, str]) -> Talk:
    if said.get("attempt") != own.attempt:
        raise WireError(f"it belongs to attempt {plain(said.get('attempt', ''))}")
    if said.get("worker") != host:
        raise WireError(f"it is {plain(said.get('worker', ''))}")
    talk = Talk(own.attempt, host, asked, said.get("nonce", ""))
    if not same(talk.of_door(own.key), said.get("mac", "")):
        raise ImpostorError("wrong key")
    return talk


def ask(own: Group, host: str, purpose: str) -> None:
    """Ask for what needs no answer but that it was understood.

    Raises:
        WireError: with the reason in words.
    """
    with dial(own, host, purpose) as sock:
        try:
            answer = next(frames(sock), (NO, b"it hung up"))
        except OSError as error:
            raise WireError(f"it hung up: {error.strerror or error}") from None
    if answer[0] != EXIT:
        raise WireError(plain(answer[1].decode(errors="replace")))


def plain(text: str) -> str:
    """What somebody else says, as it may stand in a line of ours."""
    return "".join(it if it.isprintable() else "?" for it in text[:_QUOTED])


def keep_alive(sock: socket.socket) -> None:
    """Notice within minutes that the other side is gone, however long both are silent."""
    sock.settimeout(None)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _ALIVE:
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _connected(host: str, port: int) -> socket.socket:
    try:
        return socket.create_connection((host, port), timeout=CONNECT_SECONDS)
    except (socket.gaierror, UnicodeError):
        raise WireError("its name does not resolve") from None
    except ConnectionRefusedError:
        raise WireError("refuses the connection") from None
    except socket.timeout:
        raise WireError("no answer") from None
    except OSError as error:
        raise WireError(f"cannot be reached: {error.strerror or error}") from None
