"""Jobs that ask for messages, at the moments of which some are told."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from builders import NOW, a_job
from trainingjobs.model.job import TrainingJob
from trainingjobs.model.status import Attempt, Condition, Failure, Phase, Status

ASKED = {"secretName": "hook"}
STALLS = Condition(
    type="Stalled",
    status="True",
    reason="Stalled",
    message="rank 1 stands at train.py:17",
    last_transition_time=NOW,
)


def a_told_job(asked: Any = ASKED, **status: Any) -> TrainingJob:
    """One whose status says this."""
    job = a_job(3, **({} if asked is None else {"notify": asked}))
    return replace(job, status=Status(**status))


def over(phase: Phase = Phase.FAILED, **others: Any) -> dict[str, Any]:
    """It has ended."""
    return {"phase": phase, "message": "rank 1 fell", "completion_time": NOW, **others}


def stalls(attempt: int = 1, **others: Any) -> dict[str, Any]:
    """It stands still."""
    return {"phase": Phase.RUNNING, "attempt": attempt, "conditions": [STALLS], **others}


def stood(attempt: int = 1, ended: datetime = NOW, **others: Any) -> dict[str, Any]:
    """An attempt stood still and was ended for it at once; the next one starts."""
    failure = Failure(rank=1, pod="p", reason="Stalled", message="rank 1 stood at train.py:17")
    past = Attempt(attempt=attempt, end_time=ended, reason="Stalled", failure=failure)
    return {"phase": Phase.RESTARTING, "attempt": attempt + 1, "attempts": [past], **others}
