"""The door that every pod of the cluster may knock at: what one connection may cost.

A web server waits for its clients; here a client may be a pod that wants to be waited for.
So a connection has one request and a few seconds, an address has so many connections, and
when all are taken, the one that has been there for longest has had its chance: an honest
report is through in milliseconds. Where nobody has been there for long, the operator is what
is slow, and whoever comes next is sent away: what was begun is worth more when it is done.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from trainingjobs.cluster.gate import Crowd

_LOG = logging.getLogger(__name__)
_LINE = 4_096
_HEADERS = 64
_SHUTDOWN_SECONDS = 1.0
_NO_HTTP = b'{"error": "this is no HTTP as it is spoken here"}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What strangers may take."""

    connections: int = 1_024
    of_one_address: int = 64
    chance: float = 2.0
    """For so long a connection is safe from those who come after it."""
    seconds: float = 20.0
    """The life of a connection."""
    requests: int = 128
    """Being worked on; whoever comes then is told to come again."""
    requests_of_one_address: int = 48
    body_seconds: float = 5.0
    penalty: float = 1.0
    """For so long an answer to what should not have been sent is kept back."""


class Door:
    """Counts connections, and shows out who stays too long."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._crowd = Crowd(limits.connections, limits.of_one_address)
        # in the order in which they came
        self._inside: dict[asyncio.Transport, tuple[str, asyncio.TimerHandle, float]] = {}

    def __len__(self) -> int:
        return len(self._inside)

    def enter(self, transport: asyncio.Transport) -> bool:
        """Let a connection in; false where there is no room for it."""
        loop = asyncio.get_running_loop()
        if len(self._inside) >= self.limits.connections:
            self._show_out_after(loop.time() - self.limits.chance)
        address = str((transport.get_extra_info("peername") or ("",))[0])
        if not self._crowd.enter(address):
            return False
        timer = loop.call_later(self.limits.seconds, transport.abort)
        self._inside[transport] = address, timer, loop.time()
        return True

    def leave(self, transport: asyncio.Transport) -> None:
        """A connection has ended, let in or not."""
        if transport in self._inside:
            address, timer, _ = self._inside.pop(transport)
            timer.cancel()
            self._crowd.leave(address)

    def _show_out_after(self, time: float) -> None:
        """Show out the one that came first, if it came before this time."""
        first = next(iter(self._inside))
        if self._inside[first][2] <= time:
            self.leave(first)
            first.abort()


class _Line(web.RequestHandler):
    """One connection, as aiohttp serves it, behind the door."""

    __slots__ = ("_door", "_wire")

    def __init__(self, door: Door, server: web.Server, **options: Any) -> None:
        super().__init__(server, **options)
        self._door = door
        self._wire: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._wire = wire = cast("asyncio.Transport", transport)
        super().connection_made(wire)
        if not self._door.enter(wire):
            wire.abort()

    def connection_lost(self, exc: BaseException | None) -> None:
        if self._wire is not None:
            self._door.leave(self._wire)
        super().connection_lost(exc)

    def stay(self) -> None:
        """Count this connection no more: it is known whose it is, and it is counted elsewhere."""
        if self._wire is not None:
            self._door.leave(self._wire)

    def log_exception(self, *args: Any, **kw: Any) -> None:
        """What a stranger sends that is no HTTP is not worth a line of the log."""
        if not isinstance(kw.get("exc_info"), HttpProcessingError):
            super().log_exception(*args, **kw)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """A short answer: aiohttp's own repeats what was sent."""
        super().handle_error(request, status, exc, message and "")
        answer = web.Response(status=status, body=_NO_HTTP, content_type="application/json")
        answer.force_close()
        return answer


@dataclass(slots=True)
class Site:
    """Serves an application behind a door."""

    app: web.Application
    limits: Limits = field(default_factory=Limits)
    _runner: web.AppRunner | None = None
    _server: asyncio.Server | None = None

    @property
    def serving(self) -> bool:
        """True while somebody who knocks is heard."""
        return self._server is not None and self._server.is_serving()

    async def start(self, port: int, host: str | None = None) -> int:
        """Answer on all addresses, or on one; the port.

        Raises:
            OSError: when the port is taken.
        """
        runner = self._runner = web.AppRunner(self.app, shutdown_timeout=_SHUTDOWN_SECONDS)
        await runner.setup()
        lines, loop = self._lines(cast("web.Server", runner.server)), asyncio.get_running_loop()
        self._server = await loop.create_server(
            lines, host, port, backlog=self.limits.connections, reuse_address=True
        )
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Close all connections."""
        if self._server is not None:
            self._server.close()
        if self._runner is not None:
            with contextlib.suppress(asyncio.TimeoutError):
                await self._runner.cleanup()

    def _lines(self, server: web.Server) -> Callable[[], _Line]:
        door = Door(self.limits)
        options = {
            "loop": asyncio.get_running_loop(),
            "logger": _LOG,
            "access_log": None,
            "auto_decompress": False,
            "keepalive_timeout": self.limits.body_seconds,
            "lingering_time": 1.0,
            "max_line_size": _LINE,
            "max_headers": _HEADERS,
            "max_field_size": 2 * _LINE,
            "read_bufsize": 2 * _LINE,
        }
        return lambda: _Line(door, server, **options)
