"""What is worth an event: the steps a job took between one status and the next.

Only a status that was written speaks, so a step is told once, however often it was decided.
"""

from collections.abc import Iterator
from datetime import timedelta

from trainingjobs.diagnosis.stall import MOVES
from trainingjobs.model.finding import Kind
from trainingjobs.model.notice import Notice
from trainingjobs.model.status import Phase, Status
from trainingjobs.status import conditions

STEPS_AGAIN = "StepsAgain"
_WARNINGS = {Phase.RESTARTING, Phase.FAILED}
_TOLD = {Phase.RUNNING, Phase.RESTARTING, Phase.SUCCEEDED, Phase.FAILED, Phase.SUSPENDED}


def notices(old: Status, new: Status) -> tuple[Notice, ...]:
    """The events that follow from a change of the status."""
    found = (_created(old, new), _phase(old, new), _blocked(old, new))
    heard = (_registered(old, new), _stalled(old, new), *_found(old, new))
    return tuple(notice for notice in (*found, *heard) if notice is not None)


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
    runs = f"{new.ready} instances run in attempt {new.attempt}"
    return Notice(
        type="Warning" if new.phase in _WARNINGS else "Normal",
        reason=new.phase.value,
        message=runs if new.phase is Phase.RUNNING else new.message,
    )


def _blocked(old: Status, new: Status) -> Notice | None:
    """A wait that has a reason of its own: unschedulable, quota, image, a name that is taken."""
    running = conditions.of(new.conditions, conditions.RUNNING)
    if running is None or new.phase not in {Phase.PENDING, Phase.STARTING}:
        return None
    if not running.message or running.message == old.message:
        return None
    return Notice(type="Warning", reason=running.reason, message=running.message)


def _registered(old: Status, new: Status) -> Notice | None:
    fact = conditions.of(new.conditions, conditions.REGISTERED)
    if fact is None or not _begins(old, new, conditions.REGISTERED):
        return None
    start = new.attempt_start_time or fact.last_transition_time
    took = (fact.last_transition_time - start) // timedelta(seconds=1)
    words = f"{fact.message or 'all ranks joined'}, {took} s after the start of the attempt"
    return Notice(type="Normal", reason=conditions.REGISTERED, message=words)


def _stalled(old: Status, new: Status) -> Notice | None:
    fact = conditions.of(new.conditions, conditions.STALLED)
    if fact is None:
        return None
    if _begins(old, new, conditions.STALLED):
        return Notice(type="Warning", reason=conditions.STALLED, message=fact.message)
    ended = conditions.holds(old.conditions, conditions.STALLED) and fact.status == "False"
    if not ended or fact.reason != MOVES or old.attempt != new.attempt:
        return None
    return Notice(type="Normal", reason=STEPS_AGAIN, message=fact.message or "the ranks step again")


def _found(old: Status, new: Status) -> Iterator[Notice]:
    """Each kind of finding when it is new; a stall has its condition."""
    same = old.attempt == new.attempt
    told = {found.type for found in old.findings if same} | {Kind.STALLED.value}
    for found in new.findings:
        if found.type not in told:
            told.add(found.type)
            yield Notice(type="Warning", reason=found.type, message=found.message)


def _begins(old: Status, new: Status, name: str) -> bool:
    """True when the condition holds and did not in this attempt."""
    before = conditions.holds(old.conditions, name) and old.attempt == new.attempt
    return conditions.holds(new.conditions, name) and not before
