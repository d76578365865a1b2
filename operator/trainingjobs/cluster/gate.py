"""Who may ask the API server on behalf of strangers, how often, and who has to come again.

Anybody can show a token that was never seen before. Each costs a request to the API server,
so there are so many in a second and no more, and no single address can fill the queue.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Hashable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

_AT_ONE_TIME = 8
"""An API server that is slow keeps its connections for what jobs need."""


class BusyError(Exception):
    """There are too many; whoever is sent away comes again after so many seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"come again in {seconds:.0f} s")
        self.seconds = seconds


@dataclass(slots=True)
class Crowd:
    """How many are inside, in all and of each kind."""

    total: int
    share: int
    """So many of one kind."""
    _inside: Counter[Hashable] = field(default_factory=Counter)
    _all: int = 0

    def __len__(self) -> int:
        return self._all

    def enter(self, kind: Hashable) -> bool:
        """Let one more in; false where there is no room."""
        if self._all >= self.total or self._inside[kind] >= self.share:
            return False
        self._inside[kind] += 1
        self._all += 1
        return True

    def leave(self, kind: Hashable) -> None:
        """One that was let in has gone."""
        self._all -= 1
        self._inside[kind] -= 1
        if not self._inside[kind]:
            del self._inside[kind]

    @contextmanager
    def room(self, kind: Hashable) -> Iterator[None]:
        """Be inside.

        Raises:
            BusyError: where there is no room.
        """
        if not self.enter(kind):
            raise BusyError(1)
        try:
            yield
        finally:
            self.leave(kind)


class Ration:
    """Work that costs the one core its time, whoever asks for it: one part in so many."""

    def __init__(self, parts: float, clock: Callable[[], float]) -> None:
        self._parts = parts
        self._clock = clock
        self._free = float("-inf")

    async def turn(self, patience: float = 4.0) -> None:
        """Wait until there may be work again.

        Raises:
            BusyError: when it takes too long.
        """
        until = self._clock() + patience
        while (wait := self._free - self._clock()) > 0:
            if self._free > until:
                raise BusyError(wait)
            await asyncio.sleep(wait)

    def spent(self, seconds: float) -> None:
        """So long did it take."""
        self._free = self._clock() + self._parts * seconds


class Gate:
    """Lets so many through in a second, and makes others wait for a while before it refuses."""

    def __init__(self, rate: float, crowd: Crowd, clock: Callable[[], float]) -> None:
        self._rate = rate
        self._crowd = crowd
        self._clock = clock
        self._next = float("-inf")
        self._asking = asyncio.Semaphore(_AT_ONE_TIME)

    @asynccontextmanager
    async def turn(self, address: str, patience: float = 4.0) -> AsyncIterator[None]:
        """Wait for a turn, and have it until the work is done.

        Raises:
            BusyError: when it would take too long.
        """
        with self._crowd.room(address):
            now = self._clock()
            # a second's worth may come at one time
            due = max(self._next, now - 1.0) + 1.0 / self._rate
            if due - now > patience:
                raise BusyError(due - now)
            self._next = due
            if due > now:
                await asyncio.sleep(due - now)
            async with self._asking:
                yield
