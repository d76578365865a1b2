"""A port of this machine that leads to a pod's: `listening` is what a browser is pointed to.

Each connection asks anew where to go, so that it comes to the leader of that moment.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from trainingjobs.client import tunnel
from trainingjobs.client.errors import ClientError
from trainingjobs.client.raw import Raw
from trainingjobs.client.tunnel import Target, Tunnel

LOOPBACK = "127.0.0.1"
_CHUNK = 32_768
Find = Callable[[], Awaitable[Target]]


class Forward:
    """The connections of one listener."""

    def __init__(self, raw: Raw, find: Find) -> None:
        self._raw, self._find = raw, find
        self._open: set[asyncio.Task[None]] = set()
        self.port = 0
        """Where it listens."""
        self.wrong: ClientError | None = None
        """Why the last connection that failed did so: who called it sees a closed one alone."""

    async def start(self, port: int) -> asyncio.Server:
        """Listen on this machine alone."""
        server = await asyncio.start_server(self._serve, LOOPBACK, port)
        self.port = int(server.sockets[0].getsockname()[1])
        return server

    async def stop(self) -> None:
        """End all connections."""
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  a coroutine runs in one
        self._open.add(task)
        try:
            async with tunnel.opened(self._raw, await self._find()) as way:
                await _carried(way, reader, writer)
        except ClientError as error:
            self.wrong = error
        except (OSError, asyncio.CancelledError):
            pass  # who called has gone, or we go
        finally:
            self._open.discard(task)
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()


async def _carried(way: Tunnel, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Bytes in both directions, until one side ends."""

    async def there() -> None:
        while data := await reader.read(_CHUNK):
            await way.send(data)

    async def back() -> None:
        while data := await way.receive():
            writer.write(data)
            await writer.drain()

    both = [asyncio.create_task(there()), asyncio.create_task(back())]
    try:
        done, _ = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in both:
            task.cancel()
        await asyncio.gather(*both, return_exceptions=True)


@asynccontextmanager
async def listening(raw: Raw, find: Find, port: int = 0) -> AsyncIterator[Forward]:
    """A listener on 127.0.0.1 that carries each connection to where `find` says.

    Args:
        raw: the way to the API server.
        find: says where; `Operator.target` for the operator's leader.
        port: of this machine; 0 for any that is free.

    Raises:
        OSError: when the port is taken.
    """
    forward = Forward(raw, find)
    server = await forward.start(port)
    try:
        yield forward
    finally:
        server.close()
        await forward.stop()
