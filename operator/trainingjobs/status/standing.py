"""Where each rank stands, and the counts that follow: they always add up to the job's size."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from trainingjobs.model import ranks
from trainingjobs.model.observed import Observed, PodSeen
from trainingjobs.model.status import Instances, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The ranks of one attempt by what they do."""

    size: int
    counts: Instances
    pods: Mapping[int, PodSeen]

    @property
    def created(self) -> bool:
        """True when every rank has a pod, or has had one and succeeded."""
        return self.counts.missing == 0 and self.counts.terminating == 0

    @property
    def scheduled(self) -> bool:
        """True when every rank is on a node."""
        return self.created and self.counts.pending == 0

    @property
    def complete(self) -> bool:
        """True when every rank runs or has succeeded."""
        return self.ready == self.size

    @property
    def partial(self) -> bool:
        """True while some ranks hold room and others have none.

        Pods that no node has taken hold none, unless some could not even be created: then a
        quota counts them.
        """
        counts = self.counts
        placed = counts.starting + counts.running + counts.succeeded + counts.failed
        holds = placed + counts.pending if counts.missing else placed
        return holds > 0 and counts.missing + counts.pending > 0

    @property
    def ready(self) -> int:
        """Ranks that run or have succeeded."""
        return self.counts.running + self.counts.succeeded


def standing(size: int, seen: Observed, attempt: int, done: frozenset[int]) -> Standing:
    """Where the ranks of one attempt stand.

    Args:
        size: instances of that attempt.
        seen: all pods of the job.
        attempt: the attempt that is told of.
        done: ranks that were seen to succeed in it, whether or not their pods still exist.
    """
    current = seen.of(attempt)
    earlier = {pod.rank for pod in seen.others(attempt) if pod.terminating or not pod.ended}
    tally = Counter(
        _place(current.get(rank), done=rank in done, earlier=rank in earlier)
        for rank in range(size)
    )
    return Standing(size=size, counts=Instances(**tally), pods=current)


def succeeded_ranks(status: Status) -> frozenset[int]:
    """Ranks that the status says have succeeded in its attempt."""
    return ranks.expand(status.succeeded_ranks)


def _place(pod: PodSeen | None, *, done: bool, earlier: bool) -> str:
    if done:
        return "succeeded"
    if pod is None:
        return "terminating" if earlier else "missing"
    if pod.terminating:
        return "terminating"
    if pod.ended:
        return "succeeded" if pod.succeeded else "failed"
    if pod.running:
        return "running"
    return "starting" if pod.scheduled else "pending"
