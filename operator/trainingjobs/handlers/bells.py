"""When a report is worth a look at its job: at once, or together with the next ones.

Two hundred reports come in a second, and a look at a job reads all of its ranks. The first
report that tells something new rings at once; what comes soon after it waits for its
neighbours, and longer the larger the job is, so that looks never outgrow the reports.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from trainingjobs.cluster.callers import Caller
from trainingjobs.cluster.memo import Bounded
from trainingjobs.cluster.store import Key
from trainingjobs.model.report import Report

_REMEMBERED = 16_384
_SMALL = 100
"""Nobody waits for the neighbours in so small a world."""


@dataclass(frozen=True, slots=True)
class Rhythm:
    """The seconds between two looks: at least these, and so many for each rank and each job."""

    least: float
    ranks: float
    jobs: float

    def gap(self, ranks: int, jobs: int) -> float:
        """The seconds for a job of so many ranks among so many jobs."""
        return max(self.least, ranks / self.ranks, jobs / self.jobs)


URGENT = Rhythm(0.2, 2000, 200)
NEWS = Rhythm(2, 500, 50)
PROGRESS = Rhythm(5, 200, 20)


def gap(caller: Caller, before: Report | None, now: Report, jobs: int) -> float | None:
    """Seconds that may have to pass between two looks for this news; None where it is none."""
    ranks = caller.size * caller.processes
    rhythm = _rhythm(before, now, small=ranks <= _SMALL)
    return None if rhythm is None else rhythm.gap(ranks, jobs)


def _rhythm(before: Report | None, now: Report, *, small: bool) -> Rhythm | None:
    if now.error is not None and (before is None or before.error is None):
        return URGENT
    if before is None or now.stage is not before.stage:
        return URGENT if small else NEWS
    if _state(now) != _state(before):
        return NEWS
    return PROGRESS if _motion(now) != _motion(before) else None


def _state(report: Report) -> tuple[Any, ...]:
    """What changes a few times in a process's life."""
    data, model, told = report.data, report.model, report.told
    return (
        *(report.rank, report.world_size, report.launcher, report.device, report.destroyed),
        *(data.sampler, data.fingerprint, data.epoch_set, model.wrapper, model.exchange),
        *(told.sharded, told.wrapped),
    )


def _motion(report: Report) -> tuple[Any, ...]:
    """What changes all the time while all is well."""
    place = report.frames[0] if report.frames else None
    told = report.told
    return (
        *(report.steps, report.waits_in, report.sequence, report.checksum, place),
        *(report.data.epochs, told.step, told.total, told.epoch),
    )


class Bells:
    """One for each job."""

    def __init__(self, wake: Callable[[Key], None]) -> None:
        self._wake = wake
        self._rang: Bounded[Key, float] = Bounded(_REMEMBERED)
        # with the time, which a handle of uvloop's does not always know
        self._timers: dict[Key, tuple[float, asyncio.Handle]] = {}

    def ring(self, key: Key, gap_seconds: float) -> None:
        """Have the job looked at: now, or when so much time has passed since the last look."""
        loop = asyncio.get_running_loop()
        rang = self._rang.get(key)
        due = loop.time() if rang is None else rang + gap_seconds
        if key in self._timers:
            when, timer = self._timers[key]
            if when <= due:
                return
            timer.cancel()
        if due <= loop.time():
            self._now(key)
        else:
            self._timers[key] = due, loop.call_at(due, self._now, key)

    def stop(self) -> None:
        """Ring no more."""
        for _, timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _now(self, key: Key) -> None:
        self._timers.pop(key, None)
        self._rang.put(key, asyncio.get_running_loop().time())
        self._wake(key)
