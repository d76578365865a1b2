"""What most cases start from: a group that has run for a while, and the decision about it."""

from datetime import datetime
from typing import Any

from builders import NOW, SITE, a_job, at
from trainingjobs.model.observed import Observed
from trainingjobs.model.status import Condition, Phase, Status
from trainingjobs.plan.decide import decide
from trainingjobs.plan.decision import Decision


def going(phase: Phase = Phase.RUNNING, **more: Any) -> Status:
    """The status of a job whose pods were all created 100 s ago."""
    fact = Condition(type="PodsCreated", status="True", reason="x", last_transition_time=at(-90))
    known: dict[str, Any] = {
        "phase": phase,
        "attempt": 1,
        "start_time": at(-100),
        "attempt_start_time": at(-100),
        "running_time": at(-80) if phase is Phase.RUNNING else None,
        "group_size": 3,
        "group_asked": 3,
        "conditions": [fact],
    }
    return Status(**{**known, **more})


def waiting(**more: Any) -> Status:
    """The status of a job whose pods are not all made."""
    return going(Phase.PENDING, **{"conditions": [], **more})


def decided(
    there: Observed, status: Status | None = None, now: datetime = NOW, size: int = 3, **spec: Any
) -> Decision:
    """What happens next."""
    return decide(a_job(size, status=status or going(), **spec), there, now, SITE)


def truths(status: Status) -> dict[str, str]:
    """The conditions that are told, by type."""
    return {item.type: item.status for item in status.conditions}
