"""Several ranks' logs in the order of time, without holding more than a line of each."""

import asyncio
import heapq
from collections.abc import AsyncGenerator, Sequence

from trainingjobs.client.lines import LogLine

Lines = AsyncGenerator[LogLine, None]


async def merged(streams: Sequence[Lines]) -> Lines:
    """All lines; those of one rank stay in their own order, whatever their times."""
    try:
        firsts = await asyncio.gather(*map(_next, streams))
        heads = [(line.time, place, line) for place, line in enumerate(firsts) if line is not None]
        heapq.heapify(heads)
        while heads:
            time, place, line = heads[0]
            yield line
            following = await _next(streams[place])
            if following is None:
                heapq.heappop(heads)
            else:
                heapq.heapreplace(heads, (max(time, following.time), place, following))
    finally:
        await asyncio.gather(*(stream.aclose() for stream in streams))


async def _next(stream: Lines) -> LogLine | None:
    return await anext(stream, None)
