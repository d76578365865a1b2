"""What the fall of a rank leads to: another attempt, at whose cost, or the end of the job."""

from trainingjobs.model.job import TrainingJob
from trainingjobs.model.spec import FailureAction
from trainingjobs.model.verdict import Charge, Step, Verdict
from trainingjobs.plan import timing
from trainingjobs.plan.case import Case
from trainingjobs.plan.cause import Cause, repeats
from trainingjobs.status import sentences

HOPELESS_REPEATS = 5
"""So many failures of one rank with one exit code and one last line: another try is a waste."""


def fallen(case: Case) -> Verdict | None:
    """The verdict on the first cause; None while no rank has fallen."""
    cause = case.cause
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
