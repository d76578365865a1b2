"""Streams of server-sent events: how many, for how long, how fast, and for whom.

A stream is for somebody whom the API server knows. It is counted by that one, and no more among
the strangers at the door. It sends what has changed since it last sent, at most so often, so its
memory is what is on the wire; who does not read is left. Each ends after a while, and now and
then the feed asks again whether its reader still may.
"""

import asyncio
import json
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Protocol, cast

from aiohttp import web

from trainingjobs.cluster.errors import ApiError
from trainingjobs.cluster.gate import BusyError, Crowd
from trainingjobs.handlers.answers import Flow, RefusedError
from trainingjobs.handlers.page.wire import Wire
from trainingjobs.model import labels

_BUSY = "the operator, or the API server, has no time to say whether you may see this: come again"
_ENOUGH = "come again"
_PIECE = 65_536
"""Bytes that are handed over at a time: of no more is there a second copy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What all streams together may take."""

    streams: int = 64
    of_one_user: int = 16
    tick: float = 1.0
    """Nothing is sent more often."""
    beat: float = 15.0
    """Something is sent at least so often, so that both sides know that the other is there."""
    life: float = 900.0
    patience: float = 10.0
    """Who takes longer to read what was sent is gone."""
    on_the_way: int = 32_000_000
    """Bytes that all together may not have read yet."""


class _Line(Protocol):
    """A connection behind the door."""

    def stay(self) -> None:
        """Be counted elsewhere."""
        ...


class Feed(Protocol):
    """Where a stream's words come from."""

    async def news(self) -> bytes:
        """Events that tell what is new to this reader; empty where nothing is.

        Raises:
            RefusedError: when the reader may not see it any more, or it is gone.
        """
        ...

    def close(self) -> None:
        """Its reader has gone."""
        ...


def event(kind: str, value: Any) -> bytes:
    """One event; JSON has no line ends in it."""
    return raw_event(kind, compact(value))


def compact(value: Any) -> bytes:
    """JSON in as few bytes as that takes; half a character, which nobody can write, is a mark."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return text.encode(errors="replace")


def raw_event(kind: str, data: bytes) -> bytes:
    """One event of what is JSON already."""
    return b"event: " + kind.encode() + b"\ndata: " + data + b"\n\n"


class Streams:
    """All that are open."""

    def __init__(self, bounds: Bounds, clock: Callable[[], float]) -> None:
        self.bounds = bounds
        self.clock = clock
        self.crowd = Crowd(bounds.streams, bounds.of_one_user)
        self.wire = Wire(bounds.on_the_way)

    def open(self, user: str, feed: Feed) -> "Stream":
        """An answer that tells what the feed tells."""
        return Stream(self, user, feed)


class Stream(Flow):
    """One."""

    def __init__(self, streams: Streams, user: str, feed: Feed) -> None:
        super().__init__()
        self._streams, self._user, self._feed = streams, user, feed
        self._next = b""
        """What is told next; nothing else holds it, so that it goes once it is sent."""
        self.headers["Server"] = labels.COMPONENT_NAME
        self.headers["Cache-Control"] = "no-store"
        self.headers["X-Content-Type-Options"] = "nosniff"
        self.headers["X-Accel-Buffering"] = "no"
        self.content_type = "text/event-stream"
        self.force_close()

    async def flow(self, request: web.Request) -> None:
        """Send what is new, until one side has had enough.

        Raises:
            BusyError: when there are too many, or too much is on the way to them.
        """
        with self._streams.crowd.room(self._user), closing(self._feed):
            async with asyncio.timeout(self._streams.bounds.patience):
                self._next = await self._feed.news()
            with self._streams.wire.room(self._user, len(self._next)):
                await self.prepare(request)
            cast("_Line", request.protocol).stay()
            try:
                await self._last(await self._told())
            except (ConnectionError, TimeoutError):
                if request.transport is not None:
                    request.transport.abort()

    async def _told(self) -> str:
        """Tell, until it has ended; why it has."""
        try:
            return await self._pump()
        except RefusedError as refusal:
            return refusal.words
        except (BusyError, ApiError):
            return _BUSY

    async def _pump(self) -> str:
        clock, bounds = self._streams.clock, self._streams.bounds
        until, heard = clock() + bounds.life, clock()
        while clock() < until:
            if self._next or clock() - heard >= bounds.beat:
                with self._streams.wire.room(self._user, len(self._next)):
                    await self._send(self._next or b": \n\n")
                heard = clock()
            self._next = b""
            await asyncio.sleep(bounds.tick)
            self._next = await self._feed.news()
        return _ENOUGH

    async def _last(self, words: str) -> None:
        await self._send(event("bye", {"error": words}))
        async with asyncio.timeout(self._streams.bounds.patience):
            await self.write_eof()

    async def _send(self, data: bytes) -> None:
        async with asyncio.timeout(self._streams.bounds.patience):
            for at in range(0, len(data), _PIECE):
                await self.write(data[at : at + _PIECE])
