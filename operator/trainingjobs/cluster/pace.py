"""How fast a status follows its pods when only numbers and words move.

Five hundred pods that become ready are five hundred changes of one number. A change that
comes alone is told after a moment; of those that come together one in two seconds is.
Everything else about a job is told at once and does not ask here.
"""

from collections.abc import Callable

SETTLE_SECONDS = 0.3
GAP_SECONDS = 2.0


class Pace:
    """When each job's status was last written, and since when a change of it waits."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._waits: dict[str, float] = {}
        self._wrote: dict[str, float] = {}

    def must_wait(self, uid: str) -> bool:
        """True when this change of numbers or words is to wait for the next ones."""
        self._waits.setdefault(uid, self._clock())
        return (self.seconds_left(uid) or 0.0) > 0

    def seconds_left(self, uid: str) -> float | None:
        """Until a change that waits may be written; None when none waits."""
        since = self._waits.get(uid)
        if since is None:
            return None
        last = self._wrote.get(uid, float("-inf"))
        due = max(since + SETTLE_SECONDS, last + GAP_SECONDS)
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
