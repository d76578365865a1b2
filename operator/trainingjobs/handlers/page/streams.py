"""Streams of server-sent events: how many, for how long, how fast, and for whom.

A stream is for somebody whom the API server knows. It is counted by that one, and no more among
the strangers at the door. It sends what has changed since it last sent, at most so often, so its
memory is what is on the wire; who does not read is left. Each ends after a while, and now and
then the feed asks again whether its reader still may.
"""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, cast

from aiohttp import web

from trainingjobs.cluster.errors import ApiError
from trainingjobs.cluster.gate import BusyError, Crowd
from trainingjobs.handlers.answers import Flow, RefusedError
from trainingjobs.model import labels

_BUSY = "the operator, or the API server, has no time to say whether you may see this: come again"
_ENOUGH = "come again"


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


def event(kind: str, value: Any) -> bytes:
    """One event; JSON has no line ends in it."""
    return raw_event(kind, json.dumps(value, separators=(",", ":")).encode())


def raw_event(kind: str, data: bytes) -> bytes:
    """One event of what is JSON already."""
    return b"event: " + kind.encode() + b"\ndata: " + data + b"\n\n"


class Streams:
    """All that are open."""

    def __init__(self, bounds: Bounds, clock: Callable[[], float]) -> None:
        self.bounds = bounds
        self.clock = clock
        self.crowd = Crowd(bounds.streams, bounds.of_one_user)

    def open(self, user: str, feed: Feed) -> "Stream":
        """An answer that tells what the feed tells."""
        return Stream(self, user, feed)


class Stream(Flow):
    """One."""

    def __init__(self, streams: Streams, user: str, feed: Feed) -> None:
        super().__init__()
        self._streams, self._user, self._feed = streams, user, feed
        self.headers["Server"] = labels.COMPONENT_NAME
        self.headers["Cache-Control"] = "no-store"
        self.headers["X-Content-Type-Options"] = "nosniff"
        self.headers["X-Accel-Buffering"] = "no"
        self.content_type = "text/event-stream"
        self.force_close()

    async def flow(self, request: web.Request) -> None:
        """Send what is new, until one side has had enough.

        Raises:
            BusyError: when there are too many.
        """
        with self._streams.crowd.room(self._user):
            async with asyncio.timeout(self._streams.bounds.patience):
                first = await self._feed.news()
            await self.prepare(request)
            cast("_Line", request.protocol).stay()
            try:
                await self._last(await self._pump(first))
            except (ConnectionError, TimeoutError):
                if request.transport is not None:
                    request.transport.abort()

    async def _pump(self, news: bytes) -> str:
        """Send until the end; why it has come."""
        clock, bounds = self._streams.clock, self._streams.bounds
        until, heard = clock() + bounds.life, clock()
        while clock() < until:
            if news or clock() - heard >= bounds.beat:
                await self._send(news or b": \n\n")
                heard = clock()
            await asyncio.sleep(bounds.tick)
            try:
                news = await self._feed.news()
            except RefusedError as refusal:
                return refusal.words
            except (BusyError, ApiError):
                return _BUSY
        return _ENOUGH

    async def _last(self, words: str) -> None:
        await self._send(event("bye", {"error": words}))
        async with asyncio.timeout(self._streams.bounds.patience):
            await self.write_eof()

    async def _send(self, data: bytes) -> None:
        async with asyncio.timeout(self._streams.bounds.patience):
            await self.write(data)
