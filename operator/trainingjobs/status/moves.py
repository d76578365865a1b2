"""What a step moves in the status: counters, times and the history, each once.

A restart is counted in the write that starts the next attempt, so an operator that dies
between two writes can neither forget it nor count it twice.
"""

from datetime import datetime
from typing import Any

from trainingjobs.model import ranks
from trainingjobs.model.job import TrainingJob
from trainingjobs.model.status import MAX_ATTEMPTS_KEPT, Attempt, Phase, Status
from trainingjobs.model.verdict import Charge, Step, Verdict
from trainingjobs.status import conditions

SUSPENDED = "Suspended"
SCALED = "Scaled"
SHRUNK = "Shrunk"
CHANGED = "SpecChanged"
NO_ROOM = "PlacementTimeout"
UNREACHABLE = "WorkersUnreachable"
NO_START = frozenset({NO_ROOM, SHRUNK})
"""Ends of an attempt that found no room: the next one goes on with the same start."""
APART = frozenset({UNREACHABLE})
"""Ends of an attempt whose pods ran and never met: that was no run, and its start goes on."""
PLANNED = frozenset({SUSPENDED, SCALED, SHRUNK, CHANGED})
"""Ends of an attempt that are no failure."""


def moved(job: TrainingJob, verdict: Verdict, now: datetime) -> Status:
    """The old status with what the verdict moves in it; the rest is the report's."""
    match verdict.step:
        case Step.RUN | Step.WAIT:
            changes = _going(job, verdict, now)
        case Step.RESTART:
            changes = _restarted(job, verdict, now)
        case Step.SUSPEND:
            changes = _suspended(job, now)
        case Step.SUCCEED | Step.FAIL:
            changes = _over(job, verdict, now)
    return job.status.model_copy(update=changes)


def is_restart(status: Status) -> bool:
    """True while the attempt follows one that failed; a resumed job starts, it does not restart."""
    return bool(status.attempts) and status.attempts[-1].reason != SUSPENDED


def _going(job: TrainingJob, verdict: Verdict, now: datetime) -> dict[str, Any]:
    status = job.status
    waits = verdict.step is Step.WAIT
    since = status.starting_since or status.attempt_start_time
    return {
        "attempt": job.attempt,
        "group_size": job.size,
        "group_asked": status.group_asked or job.spec.parallel_instances,
        "start_time": status.start_time or now,
        "attempt_start_time": None if waits else status.attempt_start_time or now,
        "starting_since": since if waits else since or now,
        "next_attempt_time": status.next_attempt_time if waits else None,
        "plan_hash": "" if waits else status.plan_hash or job.plan_hash,
        "succeeded_ranks": ranks.compact(verdict.done),
    }


def _restarted(job: TrainingJob, verdict: Verdict, now: datetime) -> dict[str, Any]:
    status = job.status
    return {
        **_next_attempt(job, verdict, now),
        "restarts": status.restarts + (verdict.charge is Charge.RESTARTS),
        "disruptions": status.disruptions + (verdict.charge is Charge.DISRUPTIONS),
        "placement_timeouts": status.placement_timeouts + 1 if verdict.reason == NO_ROOM else 0,
        "next_attempt_time": verdict.until,
        "failure": verdict.failure or status.failure,
    }


def _suspended(job: TrainingJob, now: datetime) -> dict[str, Any]:
    """A job that ran goes on with a new attempt later; one that did not has nothing to count."""
    asked = job.spec.parallel_instances
    stopped = {
        "start_time": None,
        "next_attempt_time": None,
        "group_size": asked,
        "group_asked": asked,
    }
    if job.status.start_time is None:
        return {"attempt": job.attempt, **stopped}
    verdict = Verdict(step=Step.SUSPEND, reason=SUSPENDED)
    return {**_next_attempt(job, verdict, now), **stopped}


def _over(job: TrainingJob, verdict: Verdict, now: datetime) -> dict[str, Any]:
    history = job.status.attempts
    failed = verdict.step is Step.FAIL
    return {
        "attempt": job.attempt,
        "start_time": job.status.start_time or now,
        "completion_time": now,
        "next_attempt_time": None,
        "succeeded_ranks": ranks.compact(verdict.done),
        "failure": verdict.failure or job.status.failure,
        "attempts": _with(history, _ended(job, verdict, now)) if failed else history,
    }


def _next_attempt(job: TrainingJob, verdict: Verdict, now: datetime) -> dict[str, Any]:
    """A group that found no room has not lived: the history keeps what did."""
    lived = verdict.reason != NO_ROOM
    history = job.status.attempts
    return {
        "attempt": job.attempt + 1,
        "attempt_start_time": None,
        "starting_since": _starting_since(job.status, verdict),
        "running_time": None,
        "partial_since": None,
        "plan_hash": "",
        "group_size": verdict.size or job.spec.parallel_instances,
        "group_asked": job.spec.parallel_instances,
        "succeeded_ranks": "",
        "attempts": _with(history, _ended(job, verdict, now)) if lived else history,
        **_unheard(job.status),
    }


def _starting_since(status: Status, verdict: Verdict) -> datetime | None:
    unstarted = verdict.reason in NO_START and status.running_time is None
    goes_on = unstarted or verdict.reason in APART
    return (status.starting_since or status.attempt_start_time) if goes_on else None


def _unheard(status: Status) -> dict[str, Any]:
    """Of a new attempt nothing was heard yet."""
    return {
        "progress": None,
        "training": None,
        "troubled_ranks": [],
        "findings": [],
        "conditions": conditions.of_job(status.conditions),
    }


def _ended(job: TrainingJob, verdict: Verdict, now: datetime) -> Attempt:
    training = job.status.training
    told = training is not None and training.counted_by == "Script"
    return Attempt(
        attempt=job.attempt,
        start_time=job.status.attempt_start_time,
        end_time=now,
        reason=verdict.reason,
        failure=verdict.failure,
        step=training.step if training is not None and told else None,
    )


def _with(history: list[Attempt], ended: Attempt) -> list[Attempt]:
    return [*history, ended][-MAX_ATTEMPTS_KEPT:]


FINAL = {Step.SUCCEED: Phase.SUCCEEDED, Step.FAIL: Phase.FAILED, Step.SUSPEND: Phase.SUSPENDED}
"""Phases that follow from the step alone."""
