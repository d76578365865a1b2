"""The reports of one attempt, and how much of the operator's memory they may take.

What arrives in bytes lies in memory as objects, and a stack is many of them: it is weighed by
its frames, once for all who stand in the same place. Everything else is small beside that.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from trainingjobs.model.roll import Entry, Roll

SPARE_PROCESSES = 8
"""So many processes of a pod are remembered besides its ranks: launchers, and those before."""
SPARE_BYTES = 65_536
RANK_BYTES = 8_192
"""A pod's reports may have so many, and so many more for each of its ranks."""
_ENTRY = 2_048
_FRAME = 640
"""What the objects take, measured: of an entry without its words, and of a frame with them."""


_DEAF = 3
"""Intervals."""


@dataclass(slots=True)
class _Pod:
    """The processes of one pod, the one that is silent longest first."""

    entries: dict[str, Entry] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    size: int = 0

    def crowded(self, ranks: int, spare: int) -> bool:
        """True while there is more than a pod of so many ranks may have."""
        most, bytes_ = spare + ranks, SPARE_BYTES + RANK_BYTES * ranks
        return len(self.entries) > 1 and (len(self.entries) > most or self.size > bytes_)


@dataclass(slots=True)
class Sheet:
    """One attempt of one job."""

    attempt: int
    weight: int = 0
    """The bytes that it takes in memory, about."""
    _pods: dict[str, _Pod] = field(default_factory=dict)
    _stacks: dict[int, int] = field(default_factory=dict)
    """How many stand at each stack that is kept."""
    _heard: datetime | None = None
    _deaf_until: datetime | None = None
    _roll: Roll | None = None
    """What all pods' processes have told, until one tells more."""

    def __iter__(self) -> Iterator[Entry]:
        return (entry for pod in self._pods.values() for entry in pod.entries.values())

    @property
    def roll(self) -> Roll:
        """All entries."""
        if self._roll is None:
            self._roll = Roll(entries=tuple(self), deaf_until=self._deaf_until)
        return self._roll

    def get(self, pod_uid: str, process: str) -> Entry | None:
        """What is known of a process."""
        pod = self._pods.get(pod_uid)
        return None if pod is None else pod.entries.get(process)

    def put(self, entry: Entry, size: int) -> None:
        """Remember an entry of so many bytes, in place of what its process said before."""
        self._listen(entry)
        pod = self._pods.setdefault(entry.pod_uid, _Pod())
        self._drop(pod, entry.report.process)
        pod.entries[entry.report.process], pod.sizes[entry.report.process] = entry, size
        pod.size += size
        self.weight += size + _ENTRY
        stack = id(entry.report.frames)
        standing = self._stacks.get(stack, 0)
        self._stacks[stack] = standing + 1
        self.weight += 0 if standing else _FRAME * len(entry.report.frames)
        self._roll = None

    def shrink(self, pod_uid: str, ranks: int, spare: int) -> list[Entry]:
        """Keep no more than a pod of so many ranks may have, but for the newest; what went."""
        pod, gone = self._pods[pod_uid], []
        while pod.crowded(ranks, spare):
            gone += self._drop(pod, next(iter(pod.entries)))
        return gone

    def _listen(self, entry: Entry) -> None:
        """Where nobody was heard for long, it was the operator or the network that was deaf."""
        now, before = entry.received, self._heard
        if before is not None and now - before > _DEAF * entry.interval:
            self._deaf_until = now
        self._heard = now

    def _drop(self, pod: _Pod, process: str) -> list[Entry]:
        entry = pod.entries.pop(process, None)
        if entry is None:
            return []
        size = pod.sizes.pop(process)
        pod.size -= size
        self.weight -= size + _ENTRY
        stack = id(entry.report.frames)
        self._stacks[stack] -= 1
        if not self._stacks[stack]:
            del self._stacks[stack]
            self.weight -= _FRAME * len(entry.report.frames)
        return [entry]
