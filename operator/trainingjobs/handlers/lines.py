"""Who comes next of those that wait in two lines: for a first look, or for one of many.

A first look makes all that a job consists of and takes its time; those that follow tell what has
become of it, and most of them find nothing to do. In one line a job that has long been running
says so only when the hundred that came after it have been made.
"""

import asyncio
from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

KNOWN_IN_A_ROW = 4
"""So many that are known go before one that is new, when both wait."""


class Lines(Generic[K]):
    """Two lines, each first come, first served."""

    def __init__(self) -> None:
        self._new: deque[K] = deque()
        self._known: deque[K] = deque()
        self._in_a_row = 0
        self._waiting = asyncio.Semaphore(0)

    def __len__(self) -> int:
        return len(self._new) + len(self._known)

    def put(self, key: K, *, new: bool) -> None:
        """Wait at the end of a line."""
        (self._new if new else self._known).append(key)
        self._waiting.release()

    async def get(self) -> K:
        """The next one, as soon as there is one."""
        await self._waiting.acquire()
        if self._new and (not self._known or self._in_a_row >= KNOWN_IN_A_ROW):
            self._in_a_row = 0
            return self._new.popleft()
        self._in_a_row += 1
        return self._known.popleft()
