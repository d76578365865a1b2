"""What the fall of a rank leads to: another attempt, at whose cost, or the end of the job."""

from dataclasses import replace

from trainingjobs.model import containers
from trainingjobs.model.job import TrainingJob
from trainingjobs.model.spec import FailureAction
from trainingjobs.model.text import MAX_MESSAGE
from trainingjobs.model.verdict import Charge, Step, Verdict
from trainingjobs.plan import hints, launch, rollcall, timing
from trainingjobs.plan.case import Case
from trainingjobs.plan.cause import Cause, repeats
from trainingjobs.status import moves, sentences

_HIDDEN_PATH = (
    "if the image sets PYTHONPATH, set it in the template's env as well (ours hides "
    "it), or use rollCall: Disabled"
)
_ROOM = MAX_MESSAGE - 100
"""A hint is worth more than the end of a long line, and what it cost still follows."""
HOPELESS_REPEATS = 5
"""So many failures of one rank with one exit code and one last line: another try is a waste."""


def fallen(case: Case) -> Verdict | None:
    """The verdict on the first cause; None while no rank has fallen."""
    cause = case.cause
    if cause is None:
        return None
    if cause.disruption:
        return _restart(case, cause, Charge.DISRUPTIONS)
    rule = _rule(case.job, cause.failure.exit_code)
    if rule is None and launch.unreachable(case.job, cause.failure):
        failure = cause.failure.model_copy(update={"reason": moves.UNREACHABLE})
        return _restart(case, replace(cause, failure=failure), Charge.NOTHING)
    action = rule or FailureAction.RESTART
    if action is FailureAction.IGNORE:
        return _restart(case, cause, Charge.NOTHING)
    if action is FailureAction.FAIL:
        return _fail(case, cause, "FailureRule", "a failure rule ends the job")
    return charged(case, cause)


def charged(case: Case, cause: Cause) -> Verdict:
    """Another try, while there is budget and hope."""
    spent = f"restarted {case.job.status.restarts} of {case.job.spec.max_restarts} times"
    if case.job.status.restarts >= case.job.spec.max_restarts:
        return _fail(case, cause, "MaxRestartsExceeded", spent)
    if repeats(case.job.status.attempts, cause.failure) >= HOPELESS_REPEATS:
        again = f"the same failure {HOPELESS_REPEATS} times in a row, {spent}"
        return _fail(case, cause, "CrashLoop", again)
    return _restart(case, cause, Charge.RESTARTS)


def _rule(job: TrainingJob, exit_code: int | None) -> FailureAction | None:
    for rule in job.spec.failure_rules:
        if exit_code in rule.exit_codes:
            return rule.action
    return None


def _restart(case: Case, cause: Cause, charge: Charge) -> Verdict:
    delay = timing.restart_delay(case.job, case.now, cause.failure.reason)
    return Verdict(
        step=Step.RESTART,
        reason=cause.failure.reason,
        message=_said(case, cause),
        failure=cause.failure,
        charge=charge,
        until=case.now.replace(microsecond=0) + delay if delay else None,
    )


def _fail(case: Case, cause: Cause, reason: str, why: str) -> Verdict:
    return Verdict(
        step=Step.FAIL,
        reason=reason,
        message=sentences.cut(f"{_said(case, cause)} ({why})"),
        failure=cause.failure,
        done=case.done,
    )


def _said(case: Case, cause: Cause) -> str:
    """What ended the attempt, and what to do where that is known or the roll call's own fault."""
    words = sentences.fallen(cause.failure)
    last = cause.failure.message.rsplit("\n", 1)[-1]
    if "ModuleNotFoundError" in last and _hides_a_path(case, cause):
        return sentences.cut(f"{words}; {_HIDDEN_PATH}")
    hint = _hint(case, cause)
    return f"{sentences.cut(words, _ROOM - len(hint))}; {hint}" if hint else words


def _hint(case: Case, cause: Cause) -> str:
    """What to do about it; empty where that is not known."""
    if cause.disruption:
        return ""
    known = hints.hint(cause.failure, case.done, case.job.spec.port)
    if not known.startswith(hints.APART):
        return known
    return "; ".join(filter(None, (known, hints.injected(case.job, case.pods.values()))))


def _hides_a_path(case: Case, cause: Cause) -> bool:
    """True where a PYTHONPATH of the image's own is hidden by ours."""
    main = containers.trainer(case.job.template(cause.failure.rank))
    own = any(item["name"] == rollcall.PATH for item in main.get("env") or [])
    return rollcall.on(case.job, case.site) and not own and not main.get("envFrom")
