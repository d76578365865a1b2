"""Where the API server is and who we are to it.

The handlers layer fills this in from what kopf found; nothing here knows how. A bearer
token is asked for again and again, because the kubelet replaces it every hour or so.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from ssl import SSLContext

TOKEN_SECONDS = 60.0
"""For how long a token is believed to be the one in the file."""


class TokenFile:
    """A bearer token in a file that the kubelet replaces before the token expires."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._clock = clock
        self._token = ""
        self._read_at = float("-inf")

    def __repr__(self) -> str:
        return f"TokenFile({str(self._path)!r})"

    def __call__(self) -> str:
        """The value of the Authorization header."""
        if self._clock() - self._read_at >= TOKEN_SECONDS:
            self._token = self._path.read_text(encoding="utf-8").strip()
            self._read_at = self._clock()
        return f"Bearer {self._token}"

    def forget(self) -> None:
        """Read the file at the next call: the API server did not take the token."""
        self._read_at = float("-inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """What it takes to talk to one API server."""

    server: str
    tls: SSLContext | bool = True
    authorization: Callable[[], str] | None = field(default=None, repr=False)
    proxy: str | None = field(default=None, repr=False)

    def headers(self) -> dict[str, str]:
        """The headers that say who we are."""
        return {} if self.authorization is None else {"Authorization": self.authorization()}

    def refused(self) -> None:
        """The API server did not know us: look for fresh credentials."""
        if isinstance(self.authorization, TokenFile):
            self.authorization.forget()
