"""Remembers what the API server refused to make, and when it is worth asking again.

Without it every pod event of a job that has run into its quota would be another try.
"""

from collections.abc import Callable
from dataclasses import dataclass

from trainingjobs.cluster.backoff import Backoff
from trainingjobs.model.job import TrainingJob
from trainingjobs.model.observed import Problem, Trouble

_SOON = 2.0
"""What is being deleted is gone in a moment: the job of a name that was deleted and made anew waits
no longer than its predecessor takes."""


@dataclass(frozen=True, slots=True)
class _Refusal:
    problems: tuple[Problem, ...]
    generation: int
    failures: int
    until: float


class Refusals:
    """The last refusal of each job; a changed spec is always worth a try."""

    def __init__(self, backoff: Backoff, clock: Callable[[], float]) -> None:
        self._backoff = backoff
        self._clock = clock
        self._known: dict[str, _Refusal] = {}

    def standing(self, job: TrainingJob) -> tuple[Problem, ...]:
        """The problems for which it is too early to try again."""
        known = self._known.get(job.uid)
        if known is None or known.generation != job.generation or self._clock() >= known.until:
            return ()
        return known.problems

    def note(self, job: TrainingJob, problems: tuple[Problem, ...]) -> None:
        """What came of a try: no problems forget the earlier ones."""
        before = self._known.pop(job.uid, None)
        if not problems:
            return
        again = before is not None and before.generation == job.generation
        failures = before.failures + 1 if before is not None and again else 1
        delay = self._backoff.delay(failures)
        if all(problem.trouble is Trouble.LEFTOVER for problem in problems):
            delay = min(delay, _SOON)
        until = self._clock() + delay
        self._known[job.uid] = _Refusal(problems, job.generation, failures, until)

    def seconds_left(self, uid: str) -> float | None:
        """Until the next try; None when nothing was refused."""
        known = self._known.get(uid)
        return None if known is None else max(known.until - self._clock(), 0.0)

    def forget(self, uid: str) -> None:
        """The job is gone."""
        self._known.pop(uid, None)
