"""The conditions: statements with stable reasons, which keep their times while they hold."""

from collections.abc import Iterable
from datetime import datetime
from typing import Literal

from trainingjobs.model.status import Condition, Phase

CREATED = "PodsCreated"
RUNNING = "Running"
SUSPENDED = "Suspended"
SUCCEEDED = "Succeeded"
FAILED = "Failed"
FINISHED = "Finished"

Truth = Literal["True", "False", "Unknown"]
_TRUTH: dict[bool, Truth] = {True: "True", False: "False"}


def holds(conditions: Iterable[Condition], name: str) -> bool:
    """True when the condition is there and true."""
    return any(item.type == name and item.status == "True" for item in conditions)


def merged(old: Iterable[Condition], new: Iterable[Condition]) -> list[Condition]:
    """The old conditions brought up to date; one whose truth did not change keeps its time."""
    known = {item.type: item for item in old}
    for item in new:
        before = known.get(item.type)
        kept = before is not None and before.status == item.status
        time = before.last_transition_time if before and kept else item.last_transition_time
        known[item.type] = item.model_copy(update={"last_transition_time": time})
    return list(known.values())


def of_phase(phase: Phase, reason: str, message: str, now: datetime) -> list[Condition]:
    """All conditions that follow from the phase, told with its reason and message."""
    over = phase in {Phase.SUCCEEDED, Phase.FAILED}
    truths: dict[str, Truth] = {
        RUNNING: _TRUTH[phase is Phase.RUNNING],
        SUSPENDED: _TRUTH[phase is Phase.SUSPENDED],
        SUCCEEDED: _TRUTH[phase is Phase.SUCCEEDED] if over else "Unknown",
        FAILED: _TRUTH[phase is Phase.FAILED],
        FINISHED: _TRUTH[over],
    }
    told = {RUNNING} | {name for name, truth in truths.items() if truth == "True"}
    return [
        Condition(
            type=name,
            status=truth,
            reason=reason if name in told else phase.value,
            message=message if name in told else "",
            last_transition_time=now,
        )
        for name, truth in truths.items()
    ]
