"""How many bytes are on their way to all readers: what was made for them and is not read yet."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from trainingjobs.cluster.gate import BusyError

_SHARE = 4
"""One user may have one part in so many of it."""
_SMALL = 65_536
"""Bytes that any stream may have on the way: what has changed is less than to begin anew."""


class Wire:
    """So many bytes, and no more but for who has nothing else on the way."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._of: Counter[str] = Counter()

    def __len__(self) -> int:
        return self._of.total()

    @contextmanager
    def room(self, user: str, size: int) -> Iterator[None]:
        """Have so many on the way to this user.

        Raises:
            BusyError: where those that others, or this one, have not read leave no room.
        """
        mine = self._of[user]
        full = len(self) and len(self) + size > self._most
        if size > _SMALL and (full or (mine and mine + size > self._most // _SHARE)):
            raise BusyError(1)
        self._of[user] += size
        try:
            yield
        finally:
            self._of[user] -= size
            if not self._of[user]:
                del self._of[user]
