"""All or nothing: whether a group may start now, and whether the part that is there must go.

Two groups that each hold half of the room would wait for each other for ever. So a group
of which only a part finds room gives that part back after a while, and comes again later;
an elastic one goes on with the part, if that is enough.
"""

from dataclasses import replace

from trainingjobs.model.observed import PodSeen
from trainingjobs.model.times import write_time
from trainingjobs.model.verdict import Step, Verdict
from trainingjobs.plan import timing
from trainingjobs.plan.case import Case
from trainingjobs.status import moves, sentences
from trainingjobs.status.standing import standing

STUCK = "PodStuck"


def scaled(case: Case) -> Verdict | None:
    """A group of another size than is asked for starts anew with it.

    An elastic one that was told of its size, and any whose pods were made by an operator that
    died before its first word, so that nothing but a rank too many tells of the size.
    """
    job = case.job
    before, asked = job.status.group_asked, job.spec.parallel_instances
    told = job.spec.elastic is not None and before not in {0, asked}
    if not told and all(rank < job.size for rank in case.seen.of(job.attempt)):
        return None
    words = f"scaled {f'from {before} ' if told else ''}to {asked} instances"
    return Verdict(step=Step.RESTART, reason=moves.SCALED, message=words)


def changed(case: Case) -> Verdict | None:
    """Pods of another plan than the job's: it was stopped, changed and resumed unseen."""
    made_from = case.job.status.plan_hash
    if made_from in {"", case.job.plan_hash}:
        return None
    words = "the job was changed while it was suspended"
    return Verdict(step=Step.RESTART, reason=moves.CHANGED, message=words)


def old_pods(case: Case) -> Verdict | None:
    """Nothing is made while a pod of another attempt is there."""
    old = case.seen.others(case.job.attempt)
    if not old:
        return None
    stuck = [pod for pod in old if _is_stuck(case, pod)]
    if stuck:
        return Verdict(step=Step.WAIT, reason=STUCK, message=_stuck(stuck))
    dues = [due for due in map(timing.overdue, old) if due is not None]
    words = f"attempt {case.job.attempt} starts when all earlier pods are gone"
    return _wait(
        case, "WaitingForOldPods", words, Verdict(step=Step.WAIT, until=min(dues, default=None))
    )


def backing_off(case: Case) -> Verdict | None:
    """Nothing is made before the back-off is over."""
    due = case.job.status.next_attempt_time
    if due is None or case.now >= due:
        return None
    words = f"attempt {case.job.attempt} starts at {write_time(due)}"
    return _wait(case, "BackOff", words, Verdict(step=Step.WAIT, until=due))


def half_placed(case: Case) -> Verdict | None:
    """A group of which only a part found room in time gives it back, or shrinks to it."""
    due = timing.placement_deadline(case.job)
    place = standing(case.job.size, case.seen, case.job.attempt, case.done)
    if due is None or case.now < due or not place.partial:
        return None
    held = sum(pod.scheduled for pod in case.pods.values())
    elastic = case.job.spec.elastic
    if elastic is not None and held >= elastic.min_instances:
        words = f"only {held} of {case.job.size} instances found room: going on with {held}"
        return Verdict(step=Step.RESTART, reason=moves.SHRUNK, message=words, size=held)
    until = case.now.replace(microsecond=0) + timing.placement_delay(case.job)
    return Verdict(
        step=Step.RESTART, reason=moves.NO_ROOM, message=_no_room(case, held), until=until
    )


def _wait(case: Case, reason: str, words: str, verdict: Verdict) -> Verdict:
    """A wait told with what came before it: the failure, or the room that was not there."""
    status = case.job.status
    if status.placement_timeouts:
        return replace(verdict, reason=moves.NO_ROOM, message=status.message)
    failure = status.failure if moves.is_restart(status) else None
    told = f"{words}: {sentences.fallen(failure)}" if failure else words
    return replace(verdict, reason=reason, message=sentences.cut(told))


def _is_stuck(case: Case, pod: PodSeen) -> bool:
    due = timing.overdue(pod)
    return due is not None and case.now >= due


def _stuck(pods: list[PodSeen]) -> str:
    first = pods[0]
    others = f" and {len(pods) - 1} more" if len(pods) > 1 else ""
    since = write_time(first.deletion_due) if first.deletion_due else "a while"
    return (
        f"{first.name}{others} on {first.node or 'no node'} was to end by {since} and is still "
        f"there: no rank may live twice, so the next attempt waits; if the node is lost, delete "
        f"it or taint it node.kubernetes.io/out-of-service"
    )


def _no_room(case: Case, held: int) -> str:
    seconds = case.job.spec.placement_timeout_seconds
    words = f"only {held} of {case.job.size} instances found room in {seconds} s"
    block = sentences.waiting(case.pods)
    problem = next(iter(case.seen.problems), None)
    why = f": {block.message}" if block else f": {problem.message}" if problem else ""
    return sentences.cut(f"{words}{why}; released, to be tried again")
