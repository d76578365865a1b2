"""A cable between an operator and the API server, which can be pulled out."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit


class Cable:
    """Hands bytes on, both ways."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._to = parts.hostname or "", parts.port or 443
        self._listens = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self.cut = False
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        """Where its near end is."""
        return f"https://127.0.0.1:{self._listens.getsockname()[1]}"

    def pull(self) -> None:
        """Nothing comes through any more."""
        self.cut = True
        for end in self._open:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def mend(self) -> None:
        """All comes through again."""
        self.cut = False

    def close(self) -> None:
        """Throw it away."""
        self.pull()
        self._listens.close()

    def _accept(self) -> None:
        for near in self._calls():
            if self.cut:
                near.close()
                continue
            far = socket.create_connection(self._to)
            self._open += [near, far]
            for here, there in ((near, far), (far, near)):
                threading.Thread(target=_carry, args=(here, there), daemon=True).start()

    def _calls(self) -> Iterator[socket.socket]:
        with contextlib.suppress(OSError):
            while True:
                yield self._listens.accept()[0]


def _carry(here: socket.socket, there: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := here.recv(65_536):
            there.sendall(data)
    with contextlib.suppress(OSError):
        there.shutdown(socket.SHUT_RDWR)
