"""Where the time of a job went: the question that decides what a cluster is worth.

Time is accounted for in the write that something else makes necessary, to the state that the
status told until then; between two writes the same sum tells how it stands now.
"""

from datetime import datetime, timedelta

from trainingjobs.model.status import Phase, Status
from trainingjobs.model.training import Goodput
from trainingjobs.status import conditions

STATES = ("queued", "starting", "training", "stalled", "lost")
_OF_PHASE = {
    Phase.PENDING: "queued",
    Phase.STARTING: "starting",
    Phase.RUNNING: "training",
    Phase.RESTARTING: "lost",
}


def accounted(old: Status, new: Status, now: datetime) -> Status:
    """The new status with the time since the last account; as it is where nothing else changed."""
    if new == old:
        return new
    # a clock that was put back has not undone what is accounted for
    time = max(old.accounted_time or now, now)
    return new.model_copy(
        update={"goodput": until(old, now), "accounted_time": new.start_time and time}
    )


def until(status: Status, now: datetime) -> Goodput:
    """Where the time went up to now, if all is as the status says."""
    state = None if status.phase is None else _state(status, status.phase)
    if status.accounted_time is None or state is None:
        return status.goodput
    passed = max((now - status.accounted_time) // timedelta(seconds=1), 0)
    field = f"{state}_seconds"
    spent = status.goodput.model_copy(update={field: getattr(status.goodput, field) + passed})
    return spent.model_copy(update={"ratio": _ratio(spent)})


def seconds(goodput: Goodput) -> dict[str, int]:
    """Seconds by state."""
    return {state: getattr(goodput, f"{state}_seconds") for state in STATES}


def _state(status: Status, phase: Phase) -> str | None:
    if phase is not Phase.RUNNING:
        return _OF_PHASE.get(phase)
    if conditions.holds(status.conditions, conditions.STALLED):
        return "stalled"
    return "lost" if _again(status) else "training"


def _again(status: Status) -> bool:
    """True while an attempt does steps that one before it had done."""
    done = max((past.step or 0 for past in status.attempts), default=0)
    training = status.training
    return training is not None and training.counted_by == "Script" and training.step < done


def _ratio(goodput: Goodput) -> str:
    whole = sum(seconds(goodput).values())
    return f"{100 * goodput.training_seconds // whole}%" if whole else ""
