"""Which rank ended an attempt: the first to fall, not the first that was seen.

When one rank dies the others die of it, within the same second and often reported earlier.
So the containers' own finish times decide, or the time of the exception where the process told
of one; within one second (the resolution of these times) a rank that complains of a lost peer
comes after one that does not.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import takewhile

from trainingjobs import frameworks
from trainingjobs.model import names, ranks
from trainingjobs.model.job import TrainingJob
from trainingjobs.model.observed import PodSeen
from trainingjobs.model.roll import Roll
from trainingjobs.model.status import Attempt, Failure
from trainingjobs.plan.uncaught import Uncaught, lost_peer, told, uncaught

SETTLE = timedelta(seconds=1.5)
"""How long the news of a failure may lag behind the news of what it caused."""

DYING = timedelta(seconds=10)
"""How long the end of a container may lag behind the exception that its process told of: an
interpreter tears down, and a busy node's kubelet tells late."""

SKEW = timedelta(seconds=5)
"""How far a node's clock may be behind the API server's: the one tells when a container ended,
the other when its pod was told to go."""

_ERROR = "Error"
_DIGITS = re.compile(r"\d+")
_END = datetime.max.replace(tzinfo=UTC)
"""What vanished while nobody looked comes after what is known to have failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """What ended the attempt, and whether the cluster or the program did it."""

    failure: Failure
    disruption: bool
    exception: Uncaught | None = None
    """What its process said before it died."""


def first_cause(
    job: TrainingJob,
    pods: Mapping[int, PodSeen],
    lost: Mapping[int, datetime | None],
    roll: Roll,
) -> Cause | None:
    """The first cause among the attempt's pods and its lost ranks; None while all is well.

    Args:
        job: whose attempt it is.
        pods: the pods that are there, by rank.
        lost: ranks whose pods are gone, with the time where it was seen.
        roll: what their processes have said.
    """
    down = [pod for pod in pods.values() if _has_fallen(pod)]
    if not down and not lost:
        return None
    said = uncaught(roll)
    dying = _dying(pods, _at_the_end(job, pods, lost, said))
    fallen = [_fallen(pod, said.get(pod.rank)) for pod in (*down, *dying)]
    gone = [_gone(names.pod(job.name, rank), rank, lost[rank], said.get(rank)) for rank in lost]
    first, *later = sorted([*gone, *fallen], key=_order)
    victims = ranks.compact(cause.failure.rank for cause in later)
    known = {"victims": victims, "exit_code": _exit_code(job, pods, first.failure)}
    return replace(first, failure=first.failure.model_copy(update=known))


def unsettled(
    pods: Mapping[int, PodSeen], roll: Roll, now: datetime, *, launched: bool = False
) -> datetime | None:
    """When the news of a failure will have come in; None when it has.

    Nothing is left to wait for once every pod has ended. Where a launcher started the ranks, the
    pods of its workers do not end with them.
    """
    noticed = [pod.noticed_end for pod in pods.values() if pod.failed and pod.noticed_end]
    if not noticed or all(pod.ended for pod in pods.values()):
        return None
    due = min(noticed) + (DYING if _dying(pods, uncaught(roll)) and not launched else SETTLE)
    return due if now < due else None


def repeats(history: Sequence[Attempt], failure: Failure) -> int:
    """How often in a row, with this one, a rank has ended an attempt in the same way."""
    same = takewhile(lambda past: _alike(past.failure, failure), reversed(history))
    return 1 + sum(1 for _ in same)


def succeeded(pod: PodSeen) -> bool:
    """True when the rank did its work: ended with 0, and not because it was told to go.

    A script that saves its work when it is told to stop ends with 0 as well.
    """
    return pod.succeeded and pod.disruption is None and not _told_to_go(pod)


def drained(pod: PodSeen, finished: datetime) -> bool:
    """True when a worker behind a door was told to go before its launcher finished.

    A door ends with 0 only when the launcher has told it so.
    """
    if pod.succeeded:
        return False
    if pod.deletion_requested is None:
        return pod.disruption is not None
    return finished >= pod.deletion_requested - SKEW


def _alike(one: Failure | None, other: Failure) -> bool:
    if one is None or not other.message:
        return False
    return _trace(one) == _trace(other)


def _trace(failure: Failure) -> tuple[int, int | None, str, str]:
    """What tells two deaths apart; addresses and times in the last line differ each time."""
    last = failure.message.strip().rsplit("\n", 1)[-1]
    return failure.rank, failure.exit_code, failure.reason, _DIGITS.sub("0", last)


def _dying(pods: Mapping[int, PodSeen], said: Mapping[int, Uncaught]) -> list[PodSeen]:
    """Pods that are not seen to have ended, though a process of theirs told of its exception."""
    return [
        pod
        for pod in pods.values()
        if pod.rank in said and not pod.ended and not _has_fallen(pod)
        if not lost_peer(said[pod.rank].words)
    ]


def _at_the_end(
    job: TrainingJob,
    pods: Mapping[int, PodSeen],
    lost: Mapping[int, datetime | None],
    said: Mapping[int, Uncaught],
) -> Mapping[int, Uncaught]:
    """Exceptions that ended the attempt: where a launcher lives on, a rank's was none of these."""
    if not frameworks.launched(job.spec.framework):
        return said
    master = pods.get(names.MASTER_RANK)
    end = master.exit.finished if master and master.exit else lost.get(names.MASTER_RANK)
    return {rank: own for rank, own in said.items() if end is not None and own.time >= end - DYING}


def _exit_code(job: TrainingJob, pods: Mapping[int, PodSeen], failure: Failure) -> int | None:
    """The failure's own; of a rank that a launcher started, the launcher ends with its code."""
    master = pods.get(names.MASTER_RANK)
    if failure.exit_code is not None or master is None or not master.failed:
        return failure.exit_code
    told = frameworks.launched(job.spec.framework) and failure.reason == _ERROR
    return master.exit.code if told and master.exit else None


def _has_fallen(pod: PodSeen) -> bool:
    if succeeded(pod):
        return False
    return pod.failed or pod.terminating or pod.disruption is not None


def _told_to_go(pod: PodSeen) -> bool:
    """True when the deletion was asked for before the container ended."""
    if pod.deletion_requested is None:
        return False
    finished = pod.exit.finished if pod.exit else None
    return finished is None or finished >= pod.deletion_requested - SKEW


def _fallen(pod: PodSeen, exception: Uncaught | None) -> Cause:
    disruption = pod.disruption is not None or _told_to_go(pod)
    finished = pod.exit.finished if pod.exit else None
    return Cause(
        disruption=disruption,
        exception=exception,
        failure=Failure(
            rank=pod.rank,
            pod=pod.name,
            node=pod.node,
            exit_code=pod.exit.code if pod.exit else None,
            reason=_reason(pod, disruption=disruption),
            message=told(pod.exit.message if pod.exit else "", exception),
            time=pod.deletion_requested if disruption else finished,
        ),
    )


def _reason(pod: PodSeen, *, disruption: bool) -> str:
    if disruption:
        return pod.disruption or "Deleted"
    return (pod.exit.reason if pod.exit else "") or _ERROR


def _gone(name: str, rank: int, time: datetime | None, exception: Uncaught | None) -> Cause:
    """A pod that is not there any more; one that had failed by itself before is no disruption."""
    failed = exception is not None and not lost_peer(exception.words)
    failure = Failure(
        rank=rank,
        pod=name,
        reason=_ERROR if failed else "Gone",
        message=told("the pod no longer exists", exception),
        time=exception.time.replace(microsecond=0) if exception and failed else time,
    )
    return Cause(failure=failure, disruption=not failed, exception=exception)


def _order(cause: Cause) -> tuple[datetime, bool, bool, datetime, int]:
    failure, exception = cause.failure, cause.exception
    raised = _END if exception is None or cause.disruption else exception.time
    return (
        min(failure.time or _END, raised).replace(microsecond=0),
        not cause.disruption,
        lost_peer(failure.message if exception is None else exception.words),
        raised,
        failure.rank,
    )
