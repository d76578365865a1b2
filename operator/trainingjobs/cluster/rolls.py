"""What all processes have last reported, in memory alone.

A report is out of date when the next one comes, so nothing of it is written anywhere. A pod
may send what it likes: so much is kept of each, the newest, and the same words of a thousand
ranks are kept once. All jobs together have so much room; where it gets scarce, those who take
more than their share lose their spare processes first and then their stacks.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

from trainingjobs.cluster.callers import Caller
from trainingjobs.cluster.gate import BusyError
from trainingjobs.cluster.sharing import Sharing
from trainingjobs.cluster.sheets import SPARE_PROCESSES, Sheet
from trainingjobs.cluster.voices import Voice, Voices
from trainingjobs.model.report import Report, Stage
from trainingjobs.model.roll import Entry, Roll

SHORTEST = timedelta(seconds=5)
ROOM = 128 * 2**20
"""Bytes for all reports: a quarter of what the chart lets the operator take."""
_SCARCE = 0.75
"""From this part of the room on, a pod is remembered with one process besides its ranks."""
_FULL = 1.5
"""From here on, a job that takes more than its share is told to come again with more processes."""
_LATER = 60.0
_FORGOTTEN = 3
"""Who has been silent for so many of its intervals is not counted as one who reports."""


class Rolls:
    """The rolls of all jobs."""

    def __init__(
        self, clock: Callable[[], datetime], rate: float = 200.0, room: int = ROOM
    ) -> None:
        self._clock = clock
        self._rate = rate
        self._room = room
        self._weight = 0
        self._sheets: dict[str, Sheet] = {}
        self._sharing = Sharing()
        self._voices = Voices()

    @property
    def jobs(self) -> int:
        """How many jobs report."""
        return len(self._sheets)

    @property
    def heard(self) -> int:
        """How many processes report these days."""
        return self._voices.count(self._clock())

    @property
    def weight(self) -> int:
        """The bytes that all reports take, about."""
        return self._weight

    @property
    def interval(self) -> timedelta:
        """How soon a process is to report again, so that all together keep to the rate."""
        return interval(self.heard, self._rate)

    def of(self, job_uid: str, attempt: int) -> Roll:
        """All that the processes of this attempt have reported."""
        sheet = self._sheets.get(job_uid)
        return Roll() if sheet is None or sheet.attempt != attempt else sheet.roll

    def take(self, caller: Caller, report: Report, size: int) -> tuple[Entry | None, Entry]:
        """Remember a report of so many bytes; what was known of its process, and what is now.

        Raises:
            BusyError: when there is no room for another process of this job.
        """
        sheet = self._sheet(caller)
        before = sheet.get(caller.pod_uid, report.process)
        if before is None and self._takes_much(sheet, _FULL):
            raise BusyError(_LATER)
        if before is not None and _overtaken(report, before.report):
            return before, before
        now = self._clock()
        self._listen((caller.job_uid, caller.pod_uid, report.process), report, now)
        entry = Entry(
            instance=caller.instance,
            pod_uid=caller.pod_uid,
            received=now,
            first=now if before is None else before.first,
            interval=self.interval,
            report=self._kept(sheet, report),
        )
        self._put(caller, sheet, entry, size)
        return before, entry

    def forget(self, job_uid: str) -> None:
        """The job is gone, or over."""
        sheet = self._sheets.pop(job_uid, None)
        if sheet is None:
            return
        self._weight -= sheet.weight
        for entry in sheet:
            self._voices.drop(_voice(job_uid, entry))

    def forget_all(self) -> None:
        """Whoever leads next hears them; what is heard here later is of a new time."""
        for job_uid in list(self._sheets):
            self.forget(job_uid)

    def _sheet(self, caller: Caller) -> Sheet:
        sheet = self._sheets.get(caller.job_uid)
        if sheet is None or sheet.attempt != caller.attempt:
            self.forget(caller.job_uid)
            sheet = self._sheets[caller.job_uid] = Sheet(caller.attempt)
        return sheet

    def _put(self, caller: Caller, sheet: Sheet, entry: Entry, size: int) -> None:
        weight, spare = sheet.weight, 1 if self._takes_much(sheet, _SCARCE) else SPARE_PROCESSES
        sheet.put(entry, size)
        for gone in sheet.shrink(caller.pod_uid, caller.processes, spare):
            self._voices.drop(_voice(caller.job_uid, gone))
        self._weight += sheet.weight - weight

    def _kept(self, sheet: Sheet, report: Report) -> Report:
        if self._takes_much(sheet, 1.0):
            report = report.model_copy(update={"frames": []})
        return self._sharing.shared(report)

    def _takes_much(self, sheet: Sheet, part: float) -> bool:
        """True where so much of the room is taken, and by this job no less than by others."""
        return self._weight > part * self._room and sheet.weight * self.jobs >= self._weight

    def _listen(self, who: Voice, report: Report, now: datetime) -> None:
        """It counts at once: many may come at one time."""
        if report.stage is Stage.ENDED:
            self._voices.drop(who)
            return
        speaking = self.heard + (who not in self._voices)
        self._voices.hear(who, now + _FORGOTTEN * interval(speaking, self._rate))


def _overtaken(late: Report, known: Report) -> bool:
    """True when what comes late was said before what is known, as far as it can be told."""
    if known.stage is Stage.ENDED and late.stage is not Stage.ENDED:
        return True
    if late.number is not None and known.number is not None:
        return late.number < known.number
    return known.error is not None and late.error is None


def interval(processes: int, rate: float) -> timedelta:
    """How soon each of so many processes is to report again."""
    return max(SHORTEST, timedelta(seconds=processes / rate))


def _voice(job_uid: str, entry: Entry) -> Voice:
    return job_uid, entry.pod_uid, entry.report.process
