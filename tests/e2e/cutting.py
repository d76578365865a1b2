"""A way to the API server on which connections do not last."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

_CHUNK = 65_536


class Way:
    """Forwards connections to a server, and cuts all of them when it is told to."""

    def __init__(self, host: str, port: int) -> None:
        self._upstream = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: set[socket.socket] = set()
        self.cuts = 0

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"https://127.0.0.1:{self._listener.getsockname()[1]}"

    def serve(self) -> None:
        """Take connections until it is closed."""
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(self._upstream)
                self._open |= {near, far}
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=self._pump, args=pair, daemon=True).start()

    def cut(self) -> None:
        """End every connection as a broken network does."""
        for item in list(self._open):
            with suppress(OSError):
                item.shutdown(socket.SHUT_RDWR)
                self.cuts += 1

    def close(self) -> None:
        """Take no more connections."""
        self._listener.close()
        self.cut()

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(_CHUNK):
                target.sendall(data)
        for item in (source, target):
            self._open.discard(item)
            with suppress(OSError):
                item.shutdown(socket.SHUT_RDWR)
            item.close()


@contextmanager
def cut_every(seconds: float, kubeconfig: Path, folder: Path) -> Iterator[tuple[Path, Way]]:
    """A kubeconfig whose way to the server is cut again and again."""
    config: dict[str, Any] = yaml.safe_load(kubeconfig.read_text())
    context = next(c for c in config["contexts"] if c["name"] == config["current-context"])
    cluster = next(c for c in config["clusters"] if c["name"] == context["context"]["cluster"])
    address = urlsplit(cluster["cluster"]["server"])
    way = Way(str(address.hostname), address.port or 443)
    cluster["cluster"] = {"server": way.url, "insecure-skip-tls-verify": True}
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    over = threading.Event()

    def cut() -> None:
        while not over.wait(seconds):
            way.cut()

    threads = [threading.Thread(target=work, daemon=True) for work in (way.serve, cut)]
    for thread in threads:
        thread.start()
    try:
        yield path, way
    finally:
        over.set()
        way.close()
