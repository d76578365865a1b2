"""How fast a status follows its job when only numbers and words move.

Five hundred pods that become ready are five hundred changes of one number. A change that
comes alone is told after a moment; of those that come together, the first are told when they
pause or a second is over, and then one in two seconds is. A training moves for days: it is
told every ten seconds, and the last change of it as well. A group that starts is told to do so
after a moment, in which it may well run. Everything else is told at once and does not ask here.
"""

from collections.abc import Callable
from dataclasses import dataclass

from trainingjobs.cluster.haste import Haste
from trainingjobs.model.status import Instances

SETTLE_SECONDS = 0.3
LONGEST_SECONDS = 1.0
"""Those that move do not put off for longer what is told of them."""
GAP_SECONDS = {Haste.SOON: 0.0, Haste.WORDS: 2.0, Haste.NUMBERS: 10.0}


@dataclass(slots=True)
class _Wait:
    """A change that is not told yet."""

    since: float
    moved: float
    gap: float
    counts: Instances | None

    def settled(self) -> float:
        """When those that move have paused, or were waited for long enough."""
        return min(self.moved + SETTLE_SECONDS, self.since + LONGEST_SECONDS)


class Pace:
    """When each job's status was last written, and since when a change of it waits."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._waits: dict[str, _Wait] = {}
        self._wrote: dict[str, float] = {}

    def must_wait(self, uid: str, haste: Haste, counts: Instances | None = None) -> bool:
        """True when this change is to wait for the next ones, among them those of the counts."""
        if haste not in GAP_SECONDS:
            return False
        now, gap = self._clock(), GAP_SECONDS[haste]
        waits = self._waits.setdefault(uid, _Wait(now, now, gap, counts))
        waits.gap = gap
        if waits.counts != counts:
            waits.moved, waits.counts = now, counts
        return (self.seconds_left(uid) or 0.0) > 0

    def seconds_left(self, uid: str) -> float | None:
        """Until a change that waits may be written; None when none waits."""
        waits = self._waits.get(uid)
        if waits is None:
            return None
        last = self._wrote.get(uid, float("-inf"))
        return max(max(waits.settled(), last + waits.gap) - self._clock(), 0.0)

    def wrote(self, uid: str) -> None:
        """The status was written, with all that waited."""
        self._waits.pop(uid, None)
        self._wrote[uid] = self._clock()

    def settled(self, uid: str) -> None:
        """The status is as it was written."""
        self._waits.pop(uid, None)

    def forget(self, uid: str) -> None:
        """The job is gone."""
        self._waits.pop(uid, None)
        self._wrote.pop(uid, None)
