"""How fast a status follows its job when only numbers and words move.

Five hundred pods that become ready are five hundred changes of one number. A change that
comes alone is told after a moment; of those that come together one in two seconds is. A
training moves for days: it is told every ten seconds, and the last change of it as well.
Everything else about a job is told at once and does not ask here.
"""

from collections.abc import Callable

from trainingjobs.cluster.haste import Haste

SETTLE_SECONDS = 0.3
GAP_SECONDS = {Haste.WORDS: 2.0, Haste.NUMBERS: 10.0}


class Pace:
    """When each job's status was last written, and since when a change of it waits."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._waits: dict[str, tuple[float, float]] = {}
        self._wrote: dict[str, float] = {}

    def must_wait(self, uid: str, haste: Haste) -> bool:
        """True when this change is to wait for the next ones."""
        if haste not in GAP_SECONDS:
            return False
        since, _ = self._waits.get(uid, (self._clock(), 0.0))
        self._waits[uid] = since, GAP_SECONDS[haste]
        return (self.seconds_left(uid) or 0.0) > 0

    def seconds_left(self, uid: str) -> float | None:
        """Until a change that waits may be written; None when none waits."""
        waits = self._waits.get(uid)
        if waits is None:
            return None
        since, gap = waits
        last = self._wrote.get(uid, float("-inf"))
        due = max(since + SETTLE_SECONDS, last + gap)
        return max(due - self._clock(), 0.0)

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
