"""Jobs whose messages found no room: each is looked at again in its turn, and none is lost.

A job that is over gets no look by itself. How late its message is counts from when it first
asked for room, so a long wait makes it no old news.
"""

from dataclasses import dataclass, field
from datetime import datetime

from trainingjobs.cluster.store import Key


@dataclass(slots=True)
class Turns:
    """Who waits, by uid, and in which order those of a namespace are to be called."""

    _waiting: dict[str, tuple[Key, datetime]] = field(default_factory=dict)
    _lines: dict[str, dict[str, None]] = field(default_factory=dict)

    def since(self, uid: str) -> datetime | None:
        """When this job first asked for room; None where it does not wait."""
        found = self._waiting.get(uid)
        return None if found is None else found[1]

    def join(self, key: Key, uid: str, now: datetime) -> None:
        """Wait at the end of the namespace's line; who was called in vain waits on."""
        self._waiting.setdefault(uid, (key, now))
        self._lines.setdefault(key[0], {}).setdefault(uid)

    def leave(self, uid: str) -> Key | None:
        """Wait no more; the job's key where it did."""
        found = self._waiting.pop(uid, None)
        if found is None:
            return None
        key = found[0]
        self._drop(key[0], uid)
        return key

    def call(self, namespace: str) -> Key | None:
        """The next one of a namespace, which is called once for each time that it joins."""
        uid = next(iter(self._lines.get(namespace, ())), None)
        if uid is None:
            return None
        self._drop(namespace, uid)
        return self._waiting[uid][0]

    def clear(self) -> None:
        """Nobody waits here any more."""
        self._waiting.clear()
        self._lines.clear()

    def _drop(self, namespace: str, uid: str) -> None:
        line = self._lines.get(namespace, {})
        line.pop(uid, None)
        if not line:
            self._lines.pop(namespace, None)
