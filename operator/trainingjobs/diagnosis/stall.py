"""Does the group still move? If nobody does for long, who keeps the others waiting.

The limit is the user's, or twice the longest pause of this attempt that ended by itself: a group
that was quiet as a whole was so in every rank, so the rank with the shortest such pause tells.
Only what ranks have said after that limit counts: a report that is old says nothing of now.
A rank that visibly works outside of all collectives (compiles, evaluates, writes a checkpoint)
holds the alarm off for some limits more; so does one that nothing is heard of. What is told in
spite of these, or before the first step, is told as uncertain: no group is ended for it.
"""

from datetime import datetime, timedelta

from trainingjobs.diagnosis import guilt, words, work
from trainingjobs.diagnosis.outcome import Outcome, found
from trainingjobs.diagnosis.ranks import Group
from trainingjobs.diagnosis.registered import whole
from trainingjobs.diagnosis.speakers import BACKOFF
from trainingjobs.diagnosis.stages import trains
from trainingjobs.model.finding import Fact, Kind
from trainingjobs.model.status import Condition
from trainingjobs.model.text import cut

MOVES = "Progressing"
BUSY = "RankBusy"
FINISHED = "Finished"
UNHEARD = "NothingHeard"
NO_STEPS = "NoStepsSeen"
PATIENCE = 6
"""Limits that a working rank, or one that is not heard of, is waited for; ten minutes at least."""
LEAST_PATIENCE = timedelta(minutes=10)
_RHYTHM = 2
_JITTER = 1.2
"""Intervals within which the next report comes."""
_CHANCES = 2


def stalled(group: Group) -> Outcome:
    """Whether the group stands still, and whose fault that is."""
    if not _started(group):
        return Outcome()
    if not group.live:
        return _not_stalled(FINISHED)
    if not group.vocal:
        return _unheard(group)
    last = max([speaker.moved for speaker in group.speakers])
    limit = _limit(group)
    if not _confirmed(group, last + limit):
        return _not_stalled(MOVES, due=_confirmation(group, last + limit))
    return _judged(group, last, limit)


def _judged(group: Group, last: datetime, limit: timedelta) -> Outcome:
    """What to think of a group of which every rank has said that nothing moves."""
    due = last + max(PATIENCE * limit, LEAST_PATIENCE)
    reason = _holds_off(group, last, limit)
    moments = (due, *_deadlines(group, last, limit))
    if reason and group.now < due and not _told(group, last):
        said = f"no step since {words.minute(last)}, but {reason}"
        fact = Fact(truth=False, reason=BUSY, message=cut(said))
        return Outcome(fact=fact, moments=moments)
    steps = any(map(trains, group.reports))
    if not steps and not any(map(work.waits, group.reports)):
        said = f"nothing is seen to move since {words.minute(last)}, and no step was ever seen"
        return Outcome(fact=Fact(truth=None, reason=NO_STEPS, message=said), moments=moments)
    certain = steps and not reason and _sure(group, last, limit)
    return _stalled(group, last, moments, certain=certain)


def _not_stalled(reason: str, *, due: datetime | None = None) -> Outcome:
    fact = Fact(truth=False, reason=reason)
    return Outcome(fact=fact, moments=(due,) if due else ())


def _stalled(
    group: Group, last: datetime, moments: tuple[datetime, ...], *, certain: bool
) -> Outcome:
    guilty = guilt.guilty(group, last)
    said = f"{guilty.told}; no step since {words.minute(last)}: {guilty.advice}"
    numbers = [speaker.number for speaker in guilty.speakers]
    finding = found(Kind.STALLED, numbers, said, guilty.line)
    fact = Fact(truth=True, reason=finding.kind.value, message=finding.message, certain=certain)
    return Outcome(fact=fact, findings=(finding,), moments=moments)


def _started(group: Group) -> bool:
    """True once all ranks train: before that it is a question of who has joined."""
    speakers = group.speakers
    if not speakers or (group.unheard and not whole(group)):
        return False
    apart = [one for one in speakers if not (one.joined or one.gone or one.silent)]
    return all(trains(speaker.report) for speaker in apart)


def _confirmed(group: Group, due: datetime) -> bool:
    """True when each rank that is heard of has said after the limit that it has not moved."""
    return group.now >= due and min([one.entry.received for one in group.vocal]) >= due


def _confirmation(group: Group, due: datetime) -> datetime | None:
    """When each may have said so."""
    late = [one.entry for one in group.vocal if one.entry.received < due]
    chances = [
        max([entry.received + number * _JITTER * entry.interval for entry in late])
        for number in range(1, _CHANCES + 1)
        if late
    ]
    return next((moment for moment in (due, *chances) if moment > group.now), None)


def _told(group: Group, last: datetime) -> bool:
    """True when this very stall was told before: work that comes and goes does not end it."""
    return any(
        item.type == Kind.STALLED and item.status == "True" and item.last_transition_time > last
        for item in _conditions(group)
    )


def _conditions(group: Group) -> list[Condition]:
    return group.job.status.conditions


def _limit(group: Group) -> timedelta:
    """How long nobody may move."""
    rhythm = min([speaker.report.longest_quiet for speaker in group.vocal])
    return timedelta(seconds=max(group.job.spec.stall_timeout_seconds, _RHYTHM * rhythm))


def _unheard(group: Group) -> Outcome:
    """A stall that was told stands until somebody tells of progress; else nothing is known soon."""
    last = max([speaker.entry.received for speaker in group.live])
    if any(item.type == Kind.STALLED and item.status == "True" for item in _conditions(group)):
        return Outcome()
    due = last + BACKOFF
    if group.now < due:
        return Outcome(moments=(due,))
    said = f"no report of any rank has arrived since {words.second(last)}"
    return Outcome(fact=Fact(truth=None, reason=UNHEARD, message=said))


def _holds_off(group: Group, last: datetime, limit: timedelta) -> str:
    """Why the silence may be no stall, if something speaks for that."""
    fallen = guilt.fallen_silent(group, last, limit)
    busy = work.busy(group, elsewhere=bool(fallen) or work.idle(group))
    if busy:
        return f"{words.named(group, [busy[0].number])} works: it {words.stand(busy[0].report)}"
    if fallen:
        return ""
    hidden = _hidden(group)
    if hidden:
        return f"{words.several(hidden)} cannot be heard"
    waiting = any(speaker.report.waits_in is not None for speaker in group.vocal)
    if len(group.live) < len(group.speakers) and not waiting:
        return "some ranks have finished already"
    return ""


def _sure(group: Group, last: datetime, limit: timedelta) -> bool:
    """True where no rank can be thought of that works: silence may be that of a network."""
    fallen = guilt.fallen_silent(group, last, limit)
    long = all(group.now >= speaker.heard + BACKOFF for speaker in fallen)
    hidden = set(_hidden(group)) - {speaker.number for speaker in fallen}
    return long and not hidden and not work.busy(group, elsewhere=work.idle(group))


def _deadlines(group: Group, last: datetime, limit: timedelta) -> list[datetime]:
    """When the silence of a rank says more than now."""
    silent = guilt.silenced(group, last)
    return [
        moment
        for speaker in silent
        for moment in (guilt.condemned(speaker, limit), speaker.heard + BACKOFF)
    ]


def _hidden(group: Group) -> list[int]:
    """Ranks of which nothing is heard, or nothing any more."""
    lost = [speaker.number for speaker in group.speakers if speaker.silent]
    return sorted([*group.unheard, *lost])
