"""What all processes have last reported, in memory alone.

A report is out of date when the next one comes, so nothing of it is written anywhere. A pod
may send what it likes: so much is kept of each, the newest, and the same words of a thousand
ranks are kept once.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain

from trainingjobs.cluster.callers import Caller
from trainingjobs.cluster.sharing import Sharing
from trainingjobs.model.report import Report, Stage
from trainingjobs.model.roll import Entry, Roll

SHORTEST = timedelta(seconds=5)
SPARE_PROCESSES = 64
"""So many processes of a pod are remembered besides its ranks: launchers, and those before."""
SPARE_BYTES = 65_536
RANK_BYTES = 8_192
"""A pod's reports may have so many, and so many more for each of its ranks."""
_FORGOTTEN = 3
"""Who has been silent for so many of its intervals is not counted as one who reports."""
_RECOUNT = timedelta(seconds=1)


@dataclass(slots=True)
class _Pod:
    """The processes of one pod, the one that is silent longest first."""

    entries: dict[str, Entry] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    size: int = 0

    def put(self, entry: Entry, size: int) -> None:
        process = entry.report.process
        self.drop(process)
        self.entries[process], self.sizes[process] = entry, size
        self.size += size

    def drop(self, process: str) -> None:
        self.entries.pop(process, None)
        self.size -= self.sizes.pop(process, 0)

    def shrink(self, ranks: int) -> None:
        """Keep no more than a pod of so many ranks may have, but for the newest entry."""
        most, bytes_ = SPARE_PROCESSES + ranks, SPARE_BYTES + RANK_BYTES * ranks
        while len(self.entries) > 1 and (len(self.entries) > most or self.size > bytes_):
            self.drop(next(iter(self.entries)))


@dataclass(slots=True)
class _Sheet:
    """One attempt of one job."""

    attempt: int
    pods: dict[str, _Pod] = field(default_factory=dict)
    roll: Roll | None = None
    """What all pods' processes have told, until one tells more."""

    def entries(self) -> Iterator[Entry]:
        return (entry for pod in self.pods.values() for entry in pod.entries.values())


class Rolls:
    """The rolls of all jobs."""

    def __init__(self, clock: Callable[[], datetime], rate: float = 200.0) -> None:
        self._clock = clock
        self._rate = rate
        self._sheets: dict[str, _Sheet] = {}
        self._sharing = Sharing()
        self._counted_at: datetime | None = None
        self._counted = 0

    @property
    def jobs(self) -> int:
        """How many jobs have reported."""
        return len(self._sheets)

    @property
    def heard(self) -> int:
        """How many processes report these days."""
        now = self._clock()
        if self._counted_at is None or now - self._counted_at >= _RECOUNT:
            self._counted_at = now
            entries = chain.from_iterable(sheet.entries() for sheet in self._sheets.values())
            self._counted = sum(_speaks(entry, now) for entry in entries)
        return self._counted

    @property
    def interval(self) -> timedelta:
        """How soon a process is to report again, so that all together keep to the rate."""
        return interval(self.heard, self._rate)

    def of(self, job_uid: str, attempt: int) -> Roll:
        """All that the processes of this attempt have reported."""
        sheet = self._sheets.get(job_uid)
        if sheet is None or sheet.attempt != attempt:
            return Roll()
        if sheet.roll is None:
            sheet.roll = Roll(entries=tuple(sheet.entries()))
        return sheet.roll

    def take(self, caller: Caller, report: Report, size: int) -> tuple[Entry | None, Entry]:
        """Remember a report of so many bytes; what was known of its process, and what is now."""
        pod = self._pod(caller)
        before = pod.entries.get(report.process)
        if before is None:
            # it counts at once: many may come within the second until all are counted again
            self._counted = self.heard + 1
        now = self._clock()
        entry = Entry(
            instance=caller.instance,
            pod_uid=caller.pod_uid,
            received=now,
            first=now if before is None else before.first,
            interval=self.interval,
            report=self._sharing.shared(report),
        )
        pod.put(entry, size)
        pod.shrink(caller.processes)
        return before, entry

    def forget(self, job_uid: str) -> None:
        """The job is gone."""
        self._sheets.pop(job_uid, None)

    def _pod(self, caller: Caller) -> _Pod:
        """The pod, which is about to change."""
        sheet = self._sheets.get(caller.job_uid)
        if sheet is None or sheet.attempt != caller.attempt:
            sheet = self._sheets[caller.job_uid] = _Sheet(caller.attempt)
        sheet.roll = None
        return sheet.pods.setdefault(caller.pod_uid, _Pod())


def interval(processes: int, rate: float) -> timedelta:
    """How soon each of so many processes is to report again."""
    return max(SHORTEST, timedelta(seconds=processes / rate))


def _speaks(entry: Entry, now: datetime) -> bool:
    if entry.report.stage is Stage.ENDED:
        return False
    return now - entry.received <= _FORGOTTEN * entry.interval
