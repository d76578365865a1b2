"""What goes over the wire: a challenge, a signed request, then frames of output and an exit code.

Nothing is encrypted. The signature covers the challenge's nonce, so what was sent once cannot be
sent again, and the attempt, so that no pod of another attempt is commanded.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import socket
import struct
import time
from typing import Any, Iterator

from _trainingjob_launch.group import Group

HELLO, RUN, LEAVE = "hello", "run", "leave"
OUT, ERR, EXIT, NO = b"o", b"e", b"x", b"n"
MAX_LINE = 262_144
"""Linux lets an argument be half as long."""
MAX_FRAME = 65_536
CONNECT_SECONDS = 5.0
_QUOTED = 100
ANSWER_SECONDS = 10.0
_HEAD = struct.Struct(">cI")
_ALIVE = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 6))


class WireError(Exception):
    """The other side cannot be reached, refuses, or says what makes no sense."""


def sign(key: bytes, nonce: str, attempt: str, purpose: str, command: str) -> str:
    """The proof that who sends this knows the key."""
    text = json.dumps([nonce, attempt, purpose, command]).encode()
    return hmac.new(key, text, hashlib.sha256).hexdigest()


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
    """A connection to a host's door that has been told what is wanted.

    Raises:
        WireError: with the reason in words.
    """
    sock = _connected(host, own.port)
    try:
        nonce = _nonce(own, read_line(sock, MAX_LINE, ANSWER_SECONDS))
        mac = sign(own.key, nonce, own.attempt, purpose, command)
        sock.settimeout(ANSWER_SECONDS)
        sock.sendall(pack({"purpose": purpose, "command": command, "mac": mac}))
    except OSError as error:
        sock.close()
        raise WireError(f"it hung up: {error.strerror or error}") from None
    except WireError:
        sock.close()
        raise
    return sock


def _nonce(own: Group, challenge: dict[str, str]) -> str:
    if challenge.get("attempt") != own.attempt:
        raise WireError(f"it belongs to attempt {plain(challenge.get('attempt', ''))}")
    return challenge.get("nonce", "")


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
