"""What was seen of pods that may be gone by now.

A rank's success counts from the moment it is seen, though its status may wait its turn to be
written and its pod may vanish meanwhile; and the moment when a pod vanished tells whether
others fell because of it.
"""

from datetime import datetime

from trainingjobs.model.observed import Past, PodSeen
from trainingjobs.plan.cause import succeeded

Place = tuple[int, int]
"""Attempt and rank."""


class History:
    """Of one job: the latest attempt alone, since nobody asks for those before."""

    def __init__(self) -> None:
        self._attempt = 0
        self._succeeded: set[Place] = set()
        self._vanished: dict[Place, datetime] = {}

    def note(self, pod: PodSeen) -> None:
        """A pod as it is now."""
        if self._is_current(pod) and succeeded(pod):
            self._succeeded.add((pod.attempt, pod.rank))

    def vanish(self, pod: PodSeen, now: datetime) -> None:
        """A pod that is gone: lost when somebody asked for it, or else now."""
        if self._is_current(pod):
            self._vanished[pod.attempt, pod.rank] = pod.deletion_requested or now

    def past(self) -> Past:
        """All of it, for a decision."""
        return Past(succeeded=frozenset(self._succeeded), vanished=dict(self._vanished))

    def _is_current(self, pod: PodSeen) -> bool:
        if pod.attempt > self._attempt:
            self._attempt = pod.attempt
            self._succeeded.clear()
            self._vanished.clear()
        return pod.attempt == self._attempt
