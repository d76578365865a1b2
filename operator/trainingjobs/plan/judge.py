"""An ordered chain of questions about a job; the first that has an answer decides.

    done? suspended? too late? fallen? changed? scaled? stalled? refused for good? slow to start?
    old pods left? back-off? a scheduler that is not there? only a part placed?

and if none has one, the job runs. The order matters: what has succeeded is neither stopped to be
done again nor late, and what has fallen never waits for room.
"""

from collections.abc import Callable

from trainingjobs.model import names
from trainingjobs.model.observed import Trouble
from trainingjobs.model.spec import SuccessPolicy
from trainingjobs.model.verdict import Step, Verdict
from trainingjobs.plan import launch, placement, podgroup, stall, timing
from trainingjobs.plan.case import Case
from trainingjobs.plan.fallen import fallen
from trainingjobs.status import moves, sentences

_HOPELESS = {"InvalidImageName", "ErrImageNeverPull"}


def judge(case: Case) -> Verdict:
    """The next step of a job that is not finished."""
    answers = (question(case) for question in _QUESTIONS)
    return next(
        (answer for answer in answers if answer is not None), Verdict(step=Step.RUN, done=case.done)
    )


def _unlaunchable(case: Case) -> Verdict | None:
    """A template that leaves nothing to launch, or no room for what launches."""
    words = launch.objection(case.job)
    if words is None:
        return None
    return Verdict(step=Step.FAIL, reason=Trouble.INVALID.value, message=words)


def _suspended(case: Case) -> Verdict | None:
    if not case.job.spec.suspend:
        return None
    return Verdict(
        step=Step.SUSPEND,
        reason=moves.SUSPENDED,
        message="suspended: set spec.suspend to false to go on",
    )


def _successful(case: Case) -> Verdict | None:
    size = case.job.size
    if launch.on(case.job):
        return _launched_well(case)
    if case.job.spec.success_policy is SuccessPolicy.MASTER:
        over, words = 0 in case.done, "the master succeeded"
    else:
        over = len(case.done) == size
        words = "the instance succeeded" if size == 1 else f"all {size} instances succeeded"
    if not over:
        return None
    return Verdict(step=Step.SUCCEED, reason="Completed", message=words, done=case.done)


def _launched_well(case: Case) -> Verdict | None:
    """The master's command ends well when all ranks have, in whatever pod they ran."""
    if names.MASTER_RANK not in case.done or case.drained:
        return None
    words, every = "the master's command succeeded", frozenset(range(case.job.size))
    return Verdict(step=Step.SUCCEED, reason="Completed", message=words, done=every)


def _late(case: Case) -> Verdict | None:
    due = timing.deadline(case.job)
    if due is None or case.now < due:
        return None
    words = f"not finished {case.job.spec.active_deadline_seconds} s after its start"
    return Verdict(step=Step.FAIL, reason="DeadlineExceeded", message=words, done=case.done)


def _slow_start(case: Case) -> Verdict | None:
    due = timing.startup_deadline(case.job)
    if due is None or case.now < due or case.job.status.running_time is not None:
        return None
    whole = len(case.pods.keys() | case.done) == case.job.size
    if whole and all(pod.running or pod.ended for pod in case.pods.values()):
        return None
    words = f"not all instances {_what(case)} {case.job.spec.startup_timeout_seconds} s after start"
    return Verdict(
        step=Step.FAIL,
        reason="StartupTimeout",
        message=sentences.cut(f"{words}{_why_not(case)}"),
        done=case.done,
    )


def _what(case: Case) -> str:
    """What they have not done in time: they may have run before, out of each other's reach."""
    last = case.job.status.attempts[-1:]
    return "reached each other" if any(it.reason in moves.APART for it in last) else "ran"


def _why_not(case: Case) -> str:
    """What the group still waits for: the cluster, the API server, or room."""
    block = sentences.waiting(case.pods)
    if block is not None:
        return f": {block.message}"
    words = [sentences.problem(it, len(case.pods), case.job.size) for it in case.seen.problems]
    if case.job.status.placement_timeouts and case.job.status.message:
        words.append(case.job.status.message)
    return f": {words[0]}" if words else ""


def _refused(case: Case) -> Verdict | None:
    """What no waiting mends: a template that the API server or the kubelet cannot read."""
    for problem in case.seen.problems:
        if problem.trouble is Trouble.INVALID:
            words = sentences.problem(problem, len(case.pods), case.job.size)
            return Verdict(step=Step.FAIL, reason=problem.trouble.value, message=words)
    hopeless = {
        rank: pod
        for rank, pod in case.pods.items()
        if pod.waiting is not None and pod.waiting.reason in _HOPELESS
    }
    block = sentences.waiting(hopeless)
    if block is None:
        return None
    return Verdict(step=Step.FAIL, reason=block.reason, message=block.message)


_QUESTIONS: tuple[Callable[[Case], Verdict | None], ...] = (
    _unlaunchable,
    _successful,
    _suspended,
    _late,
    fallen,
    placement.changed,
    placement.scaled,
    stall.stalled,
    _refused,
    _slow_start,
    placement.old_pods,
    placement.backing_off,
    podgroup.unserved,
    placement.half_placed,
)
