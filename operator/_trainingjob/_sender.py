"""One report over the wire: plain HTTP, short timeouts, and nothing that could disturb a fork.

The address is looked up once and kept while it works: fewer lookups for the cluster, and no
resolver lock held at the moment when the user's program forks.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
from typing import Any
from urllib.parse import urlsplit

from _trainingjob._guard import debug

TOKEN = "/run/trainingjob/token"  # noqa: S105  (a path)
TIMEOUT = 5.0
MOST = 16_384
"""Bytes of a report."""
ANSWER = 4_096
"""Bytes of an answer that are read; it is one number."""
LONGEST_WAIT = 3600.0
ERRORS = (
    OSError, http.client.HTTPException, ValueError, KeyError, TypeError, RecursionError,
)  # fmt: skip
"""Of the network, and of an answer that is none: something else listens there."""


class Outcome:
    """What came of a report: heard or not, and when the operator wants the next."""

    def __init__(self, *, heard: bool, after: float | None = None) -> None:
        self.heard = heard
        self.after = after


class Sender:
    """Speaks to the operator."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.host = parts.hostname or ""
        self.port = parts.port or 80
        self.name = parts.netloc.rpartition("@")[2]
        self.path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self.address: tuple[int, Any] | None = None

    def send(self, body: bytes) -> Outcome:
        """Send it; whatever goes wrong is an outcome."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=TIMEOUT)
        try:
            connection.sock = self._connect()
            connection.request("POST", self.path, body, self._headers())
            response = connection.getresponse()
            return _outcome(
                response.status, response.getheader("Retry-After"), response.read(ANSWER)
            )
        except ERRORS as error:
            debug(f"not sent: {error!r}")
            self.address = None
            return Outcome(heard=False)
        finally:
            connection.close()

    def _connect(self) -> socket.socket:
        family, address = self.address or self._look_up()
        connection = socket.socket(family, socket.SOCK_STREAM)
        try:
            connection.settimeout(TIMEOUT)
            connection.connect(address)
        except BaseException:
            connection.close()
            raise
        self.address = family, address
        return connection

    def _look_up(self) -> tuple[int, Any]:
        # as bytes: a host name in text is encoded by a codec that would have to be imported here
        found = socket.getaddrinfo(self.host.encode("ascii"), self.port, type=socket.SOCK_STREAM)
        return found[0][0], found[0][4]

    def _headers(self) -> dict[str, str]:
        headers = {"Host": self.name, "Content-Type": "application/json", "Connection": "close"}
        token = _token()
        return {**headers, "Authorization": f"Bearer {token}"} if token else headers


def _token() -> str:
    """The token of now: the kubelet renews it."""
    try:
        with open(os.environ.get("TRAININGJOB_TOKEN_FILE") or TOKEN, "rb") as file:
            return file.read(MOST).decode("ascii", "ignore").strip()
    except OSError:
        return ""


def _outcome(status: int, retry: str | None, text: bytes) -> Outcome:
    if status == http.client.OK:
        interval = json.loads(text)["interval"]
        return Outcome(heard=True, after=_bounded(float(interval)))
    debug(f"answered {status}: {text[:200]!r}")
    after = _bounded(float(retry)) if retry and retry.isdigit() else None
    # a report that is refused for what it says is not sent again: the next one may be better
    return Outcome(heard=status in (400, 413, 422), after=after)


def _bounded(seconds: float) -> float:
    if not seconds >= 0:  # no number is not a wait either
        raise ValueError(seconds)
    return min(seconds, LONGEST_WAIT)


def encode(report: dict[str, Any]) -> bytes:
    """The report as JSON of bounded size: what is least missed goes first."""
    frames = report.get("frames", [])
    smaller: list[dict[str, Any]] = [{}, {"frames": frames[:8]}, {"frames": [], "told": {}}]
    for less in smaller:
        text = json.dumps({**report, **less}, ensure_ascii=False, allow_nan=False)
        body = text.encode("utf-8", "replace")
        if len(body) <= MOST:
            return body
    raise ValueError("a report that cannot be made small enough")
