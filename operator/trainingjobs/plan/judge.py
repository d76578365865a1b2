"""An ordered chain of questions about a job; the first that has an answer decides.

    finished? suspended? too late? done? fallen? refused for good? old pods left? back-off?

and if none has one, the job runs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from trainingjobs import frameworks
from trainingjobs.model.job import TrainingJob
from trainingjobs.model.observed import Observed, PodSeen, Trouble
from trainingjobs.model.spec import FailureAction, SuccessPolicy
from trainingjobs.model.status import Phase
from trainingjobs.model.times import write_time
from trainingjobs.model.verdict import Charge, Step, Verdict
from trainingjobs.plan import timing
from trainingjobs.plan.cause import Cause, first_cause, repeats, succeeded
from trainingjobs.status import conditions, moves, sentences
from trainingjobs.status.standing import succeeded_ranks

HOPELESS_REPEATS = 5
"""So many failures of one rank with one exit code and one last line: another try is a waste."""
_HOPELESS = {"InvalidImageName", "ErrImageNeverPull"}


@dataclass(frozen=True, slots=True)
class Case:
    """All that the questions may look at."""

    job: TrainingJob
    seen: Observed
    now: datetime

    @property
    def pods(self) -> dict[int, PodSeen]:
        """The pods of the current attempt by rank."""
        return {
            rank: pod
            for rank, pod in self.seen.of(self.job.attempt).items()
            if rank < self.job.size
        }

    @property
    def done(self) -> frozenset[int]:
        """Ranks that have succeeded in this attempt, now or when it was last looked at."""
        now = {rank for rank, pod in self.pods.items() if succeeded(pod)}
        return succeeded_ranks(self.job) | now

    @property
    def lost(self) -> frozenset[int]:
        """Ranks whose pods were there in this attempt and are gone."""
        if not conditions.holds(self.job.status.conditions, conditions.CREATED):
            return frozenset()
        return frozenset(range(self.job.size)) - self.done - self.pods.keys()


def judge(case: Case) -> Verdict:
    """The next step of a job that is not finished."""
    answers = (question(case) for question in _QUESTIONS)
    return next(
        (answer for answer in answers if answer is not None), Verdict(step=Step.RUN, done=case.done)
    )


def cause_of(case: Case) -> Cause | None:
    """What ended the attempt, if anything did."""
    living = {rank: pod for rank, pod in case.pods.items() if rank not in case.done}
    return first_cause(case.job, living, case.lost)


def _unsupported(case: Case) -> Verdict | None:
    framework = case.job.spec.framework
    if frameworks.supported(framework):
        return None
    words = f"framework {framework.value} is not built yet: use PyTorch, TensorFlow or JAX"
    return Verdict(step=Step.FAIL, reason="FrameworkNotSupported", message=words)


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
    if case.job.spec.success_policy is SuccessPolicy.MASTER:
        over, words = 0 in case.done, "the master succeeded"
    else:
        over = len(case.done) == size
        words = "the instance succeeded" if size == 1 else f"all {size} instances succeeded"
    if not over:
        return None
    return Verdict(step=Step.SUCCEED, reason="Completed", message=words, done=case.done)


def _late(case: Case) -> Verdict | None:
    due = timing.deadline(case.job)
    if due is None or case.now < due:
        return None
    words = f"not finished {case.job.spec.active_deadline_seconds} s after its start"
    return Verdict(step=Step.FAIL, reason="DeadlineExceeded", message=words, done=case.done)


def _slow_start(case: Case) -> Verdict | None:
    due = timing.startup_deadline(case.job)
    if due is None or case.now < due or case.job.status.phase is Phase.RUNNING:
        return None
    if all(pod.running or pod.ended for pod in case.pods.values()) and not case.lost:
        return None
    block = sentences.waiting(case.pods)
    why = f": {block.message}" if block else ""
    words = f"not all instances ran {case.job.spec.startup_timeout_seconds} s after start{why}"
    return Verdict(
        step=Step.FAIL, reason="StartupTimeout", message=sentences.cut(words), done=case.done
    )


def _fallen(case: Case) -> Verdict | None:
    cause = cause_of(case)
    if cause is None:
        return None
    if cause.disruption:
        return _restart(case, cause, Charge.DISRUPTIONS)
    action = _action(case.job, cause.failure.exit_code)
    if action is FailureAction.IGNORE:
        return _restart(case, cause, Charge.NOTHING)
    if action is FailureAction.FAIL:
        return _fail(case, cause, "FailureRule", "a failure rule ends the job")
    return _charged(case, cause)


def _charged(case: Case, cause: Cause) -> Verdict:
    """Another try, while there is budget and hope."""
    spent = f"restarted {case.job.status.restarts} of {case.job.spec.max_restarts} times"
    if case.job.status.restarts >= case.job.spec.max_restarts:
        return _fail(case, cause, "MaxRestartsExceeded", spent)
    if repeats(case.job.status.attempts, cause.failure) >= HOPELESS_REPEATS:
        again = f"the same failure {HOPELESS_REPEATS} times in a row, {spent}"
        return _fail(case, cause, "CrashLoop", again)
    return _restart(case, cause, Charge.RESTARTS)


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


def _old_pods(case: Case) -> Verdict | None:
    if not case.seen.others(case.job.attempt):
        return None
    words = _with_cause(case, f"attempt {case.job.attempt} starts when all earlier pods are gone")
    return Verdict(step=Step.WAIT, reason="WaitingForOldPods", message=words)


def _backing_off(case: Case) -> Verdict | None:
    due = case.job.status.next_attempt_time
    if due is None or case.now >= due:
        return None
    words = _with_cause(case, f"attempt {case.job.attempt} starts at {write_time(due)}")
    return Verdict(step=Step.WAIT, reason="BackOff", message=words, until=due)


def _with_cause(case: Case, words: str) -> str:
    failure = case.job.status.failure
    return sentences.cut(f"{words}: {sentences.fallen(failure)}" if failure else words)


_QUESTIONS: tuple[Callable[[Case], Verdict | None], ...] = (
    _unsupported,
    _suspended,
    _successful,
    _late,
    _fallen,
    _refused,
    _slow_start,
    _old_pods,
    _backing_off,
)


def _action(job: TrainingJob, exit_code: int | None) -> FailureAction:
    for rule in job.spec.failure_rules:
        if exit_code in rule.exit_codes:
            return rule.action
    return FailureAction.RESTART


def _restart(case: Case, cause: Cause, charge: Charge) -> Verdict:
    delay = timing.restart_delay(case.job, case.now)
    return Verdict(
        step=Step.RESTART,
        reason=cause.failure.reason,
        message=sentences.fallen(cause.failure),
        failure=cause.failure,
        charge=charge,
        until=case.now.replace(microsecond=0) + delay if delay else None,
    )


def _fail(case: Case, cause: Cause, reason: str, why: str) -> Verdict:
    return Verdict(
        step=Step.FAIL,
        reason=reason,
        message=sentences.cut(f"{sentences.fallen(cause.failure)} ({why})"),
        failure=cause.failure,
        done=case.done,
    )
