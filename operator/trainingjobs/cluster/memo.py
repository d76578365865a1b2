"""Answers that cost a request, kept for a while and bounded in number.

Ten thousand processes show their tokens again and again, and all of a pod's at its start at
one time: a question that is being asked is waited for, never asked twice.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


@dataclass(slots=True)
class Bounded(Generic[Key, Value]):
    """The values that were used last: so many, or so much of what they weigh."""

    size: int
    weigh: Callable[[Value], int] = lambda _: 1
    _values: OrderedDict[Key, Value] = field(default_factory=OrderedDict)
    _weight: int = 0

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Key) -> Value | None:
        """The value, which is kept for longer because it was asked for."""
        if key not in self._values:
            return None
        self._values.move_to_end(key)
        return self._values[key]

    def put(self, key: Key, value: Value) -> Value:
        """Keep the value; those that nobody used for longest go if there are too many."""
        self.drop(key)
        self._values[key] = value
        self._weight += self.weigh(value)
        while self._weight > self.size:
            self.drop(next(iter(self._values)))
        return value

    def drop(self, key: Key) -> None:
        """Keep it no longer."""
        if key in self._values:
            self._weight -= self.weigh(self._values.pop(key))


class Memo(Generic[Key, Value]):
    """Values, each until the moment that came with it."""

    def __init__(
        self, size: int, clock: Callable[[], float], weigh: Callable[[Value], int] = lambda _: 1
    ) -> None:
        self._clock = clock
        self._known: Bounded[Key, tuple[Value, float]] = Bounded(size, lambda it: weigh(it[0]))
        self._asked: dict[Key, asyncio.Task[Value]] = {}

    def __len__(self) -> int:
        return len(self._known)

    async def get(self, key: Key, ask: Callable[[], Awaitable[tuple[Value, float]]]) -> Value:
        """The value; `ask` tells it with the seconds for which it is true.

        Whoever asked first may go away: the others still get the answer. What `ask` raises is
        raised for all who wait, and not kept.
        """
        known = self._known.get(key)
        if known is not None and self._clock() < known[1]:
            return known[0]
        task = self._asked.get(key)
        if task is None:
            task = self._asked[key] = asyncio.create_task(self._learn(key, ask))
            task.add_done_callback(_seen)
        return await asyncio.shield(task)

    async def _learn(self, key: Key, ask: Callable[[], Awaitable[tuple[Value, float]]]) -> Value:
        try:
            value, seconds = await ask()
            self._known.put(key, (value, self._clock() + seconds))
            return value
        finally:
            del self._asked[key]


def _seen(task: asyncio.Task[Value]) -> None:
    """An error that nobody waits for any more is no error."""
    if not task.cancelled():
        task.exception()
