"""What the questions about a job may look at, and the facts that several of them need."""

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from trainingjobs.diagnosis.diagnose import diagnose
from trainingjobs.model import names
from trainingjobs.model.finding import Diagnosis
from trainingjobs.model.job import TrainingJob
from trainingjobs.model.observed import Observed, PodSeen
from trainingjobs.model.site import Site
from trainingjobs.plan.cause import Cause, drained, first_cause, succeeded
from trainingjobs.status import conditions
from trainingjobs.status.standing import succeeded_ranks


@dataclass(frozen=True)
class Case:
    """All that the questions may look at; what several of them ask for is worked out once."""

    job: TrainingJob
    seen: Observed
    now: datetime
    site: Site

    @cached_property
    def pods(self) -> dict[int, PodSeen]:
        """The pods of the current attempt by rank."""
        return {
            rank: pod
            for rank, pod in self.seen.of(self.job.attempt).items()
            if rank < self.job.size
        }

    @cached_property
    def done(self) -> frozenset[int]:
        """Ranks that have succeeded in this attempt, now or when it was last looked at."""
        now = {rank for rank, pod in self.pods.items() if succeeded(pod)}
        return (
            succeeded_ranks(self.job.status) | self.seen.past.succeeded_in(self.job.attempt) | now
        )

    @cached_property
    def lost(self) -> frozenset[int]:
        """Ranks whose pods were there in this attempt and are gone."""
        if not conditions.holds(self.job.status.conditions, conditions.CREATED):
            return frozenset()
        return frozenset(range(self.job.size)) - self.done - self.pods.keys()

    @cached_property
    def drained(self) -> bool:
        """True when ranks were told to stop in a worker's pod before their launcher ended.

        They save their work and end with 0, and so does what has launched them.
        """
        master = self.pods.get(names.MASTER_RANK)
        finished = master.exit.finished if master and master.exit else None
        times = self.seen.past.vanished_in(self.job.attempt)
        return finished is not None and (
            any(drained(self.pods[rank], finished) for rank in self.pods.keys() - {0})
            or any(times[rank] < finished for rank in self.lost & times.keys())
        )

    @cached_property
    def cause(self) -> Cause | None:
        """What ended the attempt, if anything did."""
        living = {rank: pod for rank, pod in self.pods.items() if rank not in self.done}
        times = self.seen.past.vanished_in(self.job.attempt)
        lost = {rank: times.get(rank) for rank in self.lost}
        return first_cause(self.job, living, lost, self.seen.roll)

    @cached_property
    def diagnosis(self) -> Diagnosis:
        """What the roll call knows of the attempt that runs."""
        return diagnose(self.job, self.seen, self.now)
