"""Does the group still move? If nobody does for long, who keeps the others waiting.

The limit is the user's, or twice the longest pause of this attempt that ended by itself: a group
that was quiet as a whole was so in every rank, so the rank with the shortest such pause tells.
A rank that visibly works outside of all collectives (compiles, evaluates, writes a checkpoint)
holds the alarm off for some limits more; so does one that nothing is heard of.
"""

from datetime import datetime, timedelta

from trainingjobs.diagnosis import guilt, words
from trainingjobs.diagnosis.outcome import Outcome, found
from trainingjobs.diagnosis.ranks import Group, Speaker
from trainingjobs.diagnosis.registered import whole
from trainingjobs.diagnosis.stages import trains
from trainingjobs.model.finding import Fact, Kind
from trainingjobs.model.text import cut

MOVES = "Progressing"
BUSY = "RankBusy"
FINISHED = "Finished"
UNHEARD = "NothingHeard"
BUSY_CORES = 0.3
BUSY_BYTES = 1e6
PATIENCE = 6
"""Limits that a working rank, or one that is not heard of, is waited for; ten minutes at least."""
LEAST_PATIENCE = timedelta(minutes=10)
_RHYTHM = 2
_OWN_WORK = frozenset({"backward", "forward", "wrap"})
"""Where a rank may wait for others, and may as well compute or compile."""


def stalled(group: Group) -> Outcome:
    """Whether the group stands still, and whose fault that is."""
    if not _started(group):
        return Outcome()
    if not group.live:
        return _not_stalled(FINISHED)
    if not group.vocal:
        return Outcome(fact=Fact(truth=None, reason=UNHEARD, message=_unheard(group)))
    last = max([speaker.moved for speaker in group.speakers])
    limit = _limit(group)
    if group.now < last + limit:
        return _not_stalled(MOVES, due=last + limit)
    due = last + max(PATIENCE * limit, LEAST_PATIENCE)
    if group.now < due and not _told(group, last):
        reason = _holds_off(group, last)
        if reason:
            said = f"no step since {words.minute(last)}, but {reason}"
            return _not_stalled(BUSY, cut(said), due=due)
    return _stalled(group, last)


def _not_stalled(reason: str, message: str = "", *, due: datetime | None = None) -> Outcome:
    fact = Fact(truth=False, reason=reason, message=message)
    return Outcome(fact=fact, moments=(due,) if due else ())


def _stalled(group: Group, last: datetime) -> Outcome:
    guilty = guilt.guilty(group, last)
    said = f"{guilty.told}; no step since {words.minute(last)}: {guilty.advice}"
    numbers = [speaker.number for speaker in guilty.speakers]
    finding = found(Kind.STALLED, numbers, said, guilty.line)
    fact = Fact(truth=True, reason=finding.kind.value, message=finding.message)
    return Outcome(fact=fact, findings=(finding,))


def _started(group: Group) -> bool:
    """True once all ranks train: before that it is a question of who has joined."""
    speakers = group.speakers
    if not speakers or (group.unheard and not whole(group)):
        return False
    apart = [one for one in speakers if not (one.joined or one.gone or one.silent)]
    return all(trains(speaker.report) for speaker in apart)


def _told(group: Group, last: datetime) -> bool:
    """True when this very stall was told before: work that comes and goes does not end it."""
    return any(
        item.type == Kind.STALLED and item.status == "True" and item.last_transition_time > last
        for item in group.job.status.conditions
    )


def _limit(group: Group) -> timedelta:
    """How long nobody may move."""
    rhythm = min([speaker.report.longest_quiet for speaker in group.vocal])
    return timedelta(seconds=max(group.job.spec.stall_timeout_seconds, _RHYTHM * rhythm))


def _unheard(group: Group) -> str:
    last = max(speaker.entry.received for speaker in group.live)
    return f"no report of any rank has arrived since {words.second(last)}"


def _holds_off(group: Group, last: datetime) -> str:
    """Why the silence may be no stall, if something speaks for that."""
    if guilt.fallen_silent(group, last):
        return ""
    busy = _busy(group)
    if busy:
        return f"{words.named(group, [busy[0].number])} works: it {words.stand(busy[0].report)}"
    hidden = _hidden(group)
    if hidden:
        return f"{words.several(hidden)} cannot be heard"
    if len(group.live) < len(group.speakers) and not any(map(_waits, group.vocal)):
        return "some ranks have finished already"
    return ""


def _busy(group: Group) -> list[Speaker]:
    """Ranks that are seen to work: outside of all collectives, or in their own backward.

    A rank that waits for its accelerator keeps a core busy and does nothing: in backward after
    the first step, and wherever another rank is idle outside of all collectives.
    """
    idle = any(not _waits(speaker) and not _works(speaker) for speaker in group.vocal)
    return [
        speaker
        for speaker in group.vocal
        if _works(speaker)
        and (speaker.report.waits_in is None or speaker.report.waits_in in _OWN_WORK)
        and not (guilt.spins(speaker.report) and (idle or (_waits(speaker) and _warm(speaker))))
    ]


def _warm(speaker: Speaker) -> bool:
    """True when the first step, which compiles, is done."""
    return trains(speaker.report)


def _hidden(group: Group) -> list[int]:
    """Ranks of which nothing is heard, or nothing any more."""
    lost = [speaker.number for speaker in group.speakers if speaker.silent]
    return sorted([*group.unheard, *lost])


def _waits(speaker: Speaker) -> bool:
    return speaker.report.waits_in is not None


def _works(speaker: Speaker) -> bool:
    report = speaker.report
    return report.cpu >= BUSY_CORES or report.io >= BUSY_BYTES
