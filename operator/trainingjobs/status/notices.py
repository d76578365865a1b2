"""What is worth an event: the steps a job took between one status and the next.

Only a status that was written speaks, so a step is told once, however often it was decided.
"""

from trainingjobs.model.notice import Notice
from trainingjobs.model.status import Phase, Status
from trainingjobs.status import conditions

_WARNINGS = {Phase.RESTARTING, Phase.FAILED}
_TOLD = {Phase.RUNNING, Phase.RESTARTING, Phase.SUCCEEDED, Phase.FAILED, Phase.SUSPENDED}


def notices(old: Status, new: Status) -> tuple[Notice, ...]:
    """The events that follow from a change of the status."""
    found = (_created(old, new), _phase(old, new), _blocked(old, new))
    return tuple(notice for notice in found if notice is not None)


def _created(old: Status, new: Status) -> Notice | None:
    before = conditions.holds(old.conditions, conditions.CREATED) and old.attempt == new.attempt
    if before or not conditions.holds(new.conditions, conditions.CREATED):
        return None
    total = new.ready.partition("/")[2]
    return Notice(
        type="Normal",
        reason=conditions.CREATED,
        message=f"created all {total} pods of attempt {new.attempt}",
    )


def _phase(old: Status, new: Status) -> Notice | None:
    changed = old.phase is not new.phase or old.attempt != new.attempt
    if new.phase is None or new.phase not in _TOLD or not changed:
        return None
    message = new.message or f"{new.ready} instances run in attempt {new.attempt}"
    return Notice(
        type="Warning" if new.phase in _WARNINGS else "Normal",
        reason=new.phase.value,
        message=message,
    )


def _blocked(old: Status, new: Status) -> Notice | None:
    """A wait that has a reason of its own: unschedulable, quota, image, a name that is taken."""
    waits = new.phase in {Phase.PENDING, Phase.STARTING} and bool(new.message)
    if not waits or new.message == old.message:
        return None
    reason = next(c.reason for c in new.conditions if c.type == conditions.RUNNING)
    return Notice(type="Warning", reason=reason, message=new.message)
