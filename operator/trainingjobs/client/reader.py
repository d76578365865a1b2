"""One container's log, read to its end, over lost connections.

A container that has ended is read once more after its end was seen: only then no line can be
missing that a broken stream has kept back.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field

import httpx2

from trainingjobs.client import containers
from trainingjobs.client.job import Manifest
from trainingjobs.client.lines import Line, LogLine, Memory, Splitter, parsed
from trainingjobs.client.raw import Raw
from trainingjobs.model import labels

_PAUSE = 0.5
_FINAL = {401, 403}
Tell = Callable[[LogLine], Awaitable[None]]


@dataclass(slots=True)
class Reader:
    """Tells every line of one container once."""

    source: Raw
    pod: Manifest
    tell: Tell
    tail: int | None = None
    """So many of the lines that were there before; None for all."""
    began: str = ""
    """From when to read where the tail is asked for, but nothing of it has come."""
    told: int = 0
    _memory: Memory = field(init=False)
    _left: Splitter = field(default_factory=Splitter)
    """What a stream that came to its end has left: half a line, or a last one without an end."""
    _opened: bool = False

    def __post_init__(self) -> None:
        self._memory = Memory(tailed=self.tail is not None)

    async def run(self) -> None:
        """Read until the container is gone, or has ended and was read to its end.

        Raises:
            httpx2.HTTPStatusError: when its log may not be read.
        """
        now: Manifest | None = self.pod
        while now is not None:
            try:
                if await self._once(now):
                    return
                now = await self.source.pod(self.pod)
            except httpx2.HTTPStatusError as error:
                if error.response.status_code == httpx2.codes.NOT_FOUND:
                    break
                if error.response.status_code in _FINAL:
                    raise
            except httpx2.HTTPError:
                pass  # the stream broke: it is read again from where it was
            await asyncio.sleep(_PAUSE)
        await self._last(self._left)

    async def _once(self, pod: Manifest) -> bool:
        """Read what there is; true when that was all of a container that has ended."""
        ended = containers.word(pod) == "terminated"
        splitter = Splitter()
        self._memory.reopen()
        since, tail = self._place()
        self._opened = True
        data = self.source.log(pod, since=since, follow=not ended, tail=tail)
        async with aclosing(data):
            async for part in data:
                self._left = Splitter()
                for raw in splitter.lines(part):
                    await self._line(parsed(raw))
        self._left = splitter
        if ended:
            await self._last(splitter)
        return ended

    def _place(self) -> tuple[str, int | None]:
        """From when, and how many: a tail that is asked for again would leave out what is new."""
        if self._memory.since or self.tail is None:
            return self._memory.since, None
        return (self.began, None) if self._opened else ("", self.tail)

    async def _last(self, splitter: Splitter) -> None:
        for raw in splitter.last():
            await self._line(parsed(raw))

    async def _line(self, line: Line) -> None:
        self.told += 1
        if self._memory.is_new(line):
            await self.tell(of(self.pod, line))


def of(pod: Manifest, line: Line) -> LogLine:
    """The line, with whose it is."""
    return LogLine(
        rank=containers.number(pod, labels.RANK),
        attempt=containers.number(pod, labels.ATTEMPT),
        pod=pod["metadata"]["name"],
        time=line.stamp,
        text=line.text,
    )
