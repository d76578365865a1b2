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
REGISTERED = "Registered"
STALLED = "Stalled"
SHARDED = "DataSharded"
WRAPPED = "ModelWrapped"
OF_ATTEMPT = frozenset({REGISTERED, STALLED, SHARDED, WRAPPED})
"""What the roll call says, which holds for one attempt alone."""

Truth = Literal["True", "False", "Unknown"]
TRUTH: dict[bool | None, Truth] = {True: "True", False: "False", None: "Unknown"}
"""The word for what holds, does not hold, or is not known."""


def of(conditions: Iterable[Condition], name: str) -> Condition | None:
    """The condition of this type, if it is there."""
    return next((item for item in conditions if item.type == name), None)


def holds(conditions: Iterable[Condition], name: str) -> bool:
    """True when the condition is there and true."""
    found = of(conditions, name)
    return found is not None and found.status == "True"


def of_job(conditions: Iterable[Condition]) -> list[Condition]:
    """Those that outlive an attempt."""
    return [item for item in conditions if item.type not in OF_ATTEMPT]


def settled(conditions: Iterable[Condition], phase: Phase, now: datetime) -> list[Condition]:
    """The conditions of a job that is over: nothing stalls any more."""
    new = [
        item.model_copy(
            update={
                "status": TRUTH[False],
                "reason": phase.value,
                "message": "",
                "last_transition_time": now,
            }
        )
        for item in conditions
        if item.type == STALLED
    ]
    return merged(conditions, new)


def merged(old: Iterable[Condition], new: Iterable[Condition]) -> list[Condition]:
    """The old conditions brought up to date; one whose truth did not change keeps its time."""
    known = {item.type: item for item in old}
    for item in new:
        before = known.get(item.type)
        kept = before is not None and before.status == item.status
        time = before.last_transition_time if before and kept else item.last_transition_time
        known[item.type] = item.model_copy(update={"last_transition_time": time})
    return list(known.values())


def of_phase(
    phase: Phase, reason: str, message: str, now: datetime, *, runs: bool
) -> list[Condition]:
    """All conditions that follow from the phase, told with its reason and message.

    Args:
        phase: where the job is.
        reason: why, in a word.
        message: why, in a sentence.
        now: since when.
        runs: whether all instances run, which they may while their ranks still join.
    """
    over = phase in {Phase.SUCCEEDED, Phase.FAILED}
    truths: dict[str, Truth] = {
        RUNNING: TRUTH[runs],
        SUSPENDED: TRUTH[phase is Phase.SUSPENDED],
        SUCCEEDED: TRUTH[phase is Phase.SUCCEEDED] if over else "Unknown",
        FAILED: TRUTH[phase is Phase.FAILED],
        FINISHED: TRUTH[over],
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
