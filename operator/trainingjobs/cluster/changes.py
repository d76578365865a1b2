"""What has changed since somebody looked, for many who look at different times.

Each value has the number of the change that brought it. Whoever comes with a number gets what
has a higher one, so a look that finds nothing new costs no bytes, and nothing is kept for those
who look.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
_GONE = 4_096
"""So many that are gone are remembered; who has not looked since gets all anew."""


@dataclass(frozen=True, slots=True)
class News(Generic[Key]):
    """What a look brings."""

    number: int
    whole: bool
    """True where this is all that there is, and not a difference."""
    values: dict[Key, bytes]
    gone: list[Key]


@dataclass(slots=True)
class Changes(Generic[Key]):
    """Values by key, each with the number of its last change."""

    number: int = 0
    weight: int = 0
    """Bytes of all values."""
    _values: dict[Key, tuple[int, bytes]] = field(default_factory=dict)
    _gone: dict[Key, int] = field(default_factory=dict)
    _floor: int = 0

    def __len__(self) -> int:
        return len(self._values)

    def put(self, key: Key, value: bytes) -> None:
        """Take in a value; one that is known changes nothing."""
        known = self._values.get(key)
        if known is not None and known[1] == value:
            return
        self.number += 1
        self.weight += len(value) - (len(known[1]) if known else 0)
        self._values[key] = self.number, value
        self._gone.pop(key, None)

    def drop(self, key: Key) -> None:
        """Take in that it is gone."""
        known = self._values.pop(key, None)
        if known is None:
            return
        self.number += 1
        self.weight -= len(known[1])
        self._gone[key] = self.number
        while len(self._gone) > _GONE:
            self._floor = self._gone.pop(next(iter(self._gone)))

    def keep(self, keys: set[Key]) -> None:
        """Take in that no others are there."""
        for key in self._values.keys() - keys:
            self.drop(key)

    def since(self, number: int | None) -> News[Key]:
        """What is new to who has seen this number; all, to who has seen nothing."""
        if number is None or number < self._floor:
            values = {key: value for key, (_, value) in self._values.items()}
            return News(self.number, whole=True, values=values, gone=[])
        values = {key: value for key, (at, value) in self._values.items() if at > number}
        gone = [key for key, at in self._gone.items() if at > number]
        return News(self.number, whole=False, values=values, gone=gone)
