"""The page put together: its files, its streams, and the pen that draws its curves."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from aiohttp import web

from trainingjobs.cluster.curves import Curves
from trainingjobs.cluster.records import Records
from trainingjobs.cluster.reviews import User
from trainingjobs.handlers.page import archive, board, files, onejob
from trainingjobs.handlers.page.reader import Reader, proven, token_of
from trainingjobs.handlers.page.streams import Bounds, Feed, Stream, Streams
from trainingjobs.handlers.standings import PATH, Rights, Sources

JOBS = "/api/v1/trainingjobs/stream"
JOB = f"{PATH}/stream"
PATHS = frozenset({"/", files.PATH, JOBS, JOB, archive.EVENTS, archive.POD_EVENTS, archive.LOG})
_NOTED = 10.0
"""Seconds between the points of a curve: the resource is written no more often."""


@dataclass(slots=True, kw_only=True)
class Page:
    """The page."""

    sources: Sources
    rights: Rights
    leader: Callable[[], str]
    bounds: Bounds
    curves: Curves
    records: Records
    _pen: asyncio.Task[None] | None = None

    def serve(self, app: web.Application) -> None:
        """Answer for it."""
        streams = Streams(self.bounds, time.monotonic)
        rows = board.Board(self.sources.store, time.monotonic)
        pictures = onejob.Pictures(self.sources, self.curves, time.monotonic)

        async def jobs(request: web.Request) -> Stream:
            reader = self._reader(request)
            return await _opened(streams, request, reader, board.feed_of(rows, reader, request))

        async def job(request: web.Request) -> Stream:
            key = request.match_info["namespace"], request.match_info["name"]
            reader = self._reader(request)
            return await _opened(streams, request, reader, onejob.Feed(pictures, reader, key))

        static = files.Files(files.found())
        app.router.add_get("/", static.first, allow_head=False)
        app.router.add_get(files.PATH, static.one, allow_head=False)
        app.router.add_get(JOBS, jobs, allow_head=False)
        app.router.add_get(JOB, job, allow_head=False)
        self._serve_archive(app)
        app.on_startup.append(self._start)
        app.on_cleanup.append(self._stop)

    def _serve_archive(self, app: web.Application) -> None:
        """Logs and events: short answers, each to a question of its own."""
        kept = archive.Archive(self.sources, self.records, time.monotonic)
        answers = {
            archive.EVENTS: kept.events,
            archive.POD_EVENTS: kept.pod_events,
            archive.LOG: kept.log,
        }
        for path, answer in answers.items():
            app.router.add_get(path, partial(self._answered, answer), allow_head=False)

    async def _answered(
        self,
        answer: Callable[[web.Request, Reader], Awaitable[web.Response]],
        request: web.Request,
    ) -> web.Response:
        reader = self._reader(request)
        await _known(request, reader)
        return await answer(request, reader)

    def _reader(self, request: web.Request) -> Reader:
        token, address = token_of(request)
        return Reader(
            rights=self.rights,
            token=token,
            address=address,
            clock=time.monotonic,
            leads=self.sources.leads,
            leader=self.leader,
        )

    async def _start(self, _: web.Application) -> None:
        self._pen = asyncio.create_task(self._draw())

    async def _stop(self, _: web.Application) -> None:
        if self._pen is not None:
            self._pen.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._pen

    async def _draw(self) -> None:
        """A standby draws as well: all it needs is on the resources."""
        while True:
            self.curves.note(self.sources.now().timestamp(), self.sources.store.jobs())
            await asyncio.sleep(_NOTED)


async def _opened(streams: Streams, request: web.Request, reader: Reader, feed: Feed) -> Stream:
    user = await _known(request, reader)
    return streams.open(user.name, feed)


async def _known(request: web.Request, reader: Reader) -> User:
    """Who asks, by the word of the API server."""
    user = await reader.user()
    proven(request)
    return user
