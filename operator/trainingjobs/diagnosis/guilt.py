"""Who keeps the others waiting in a group that stands still, and what to do about it.

The ranks in a collective are the victims. Guilty is who is not there: it has finished, it has
fallen silent, it stands elsewhere, or it is in another collective than most.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from trainingjobs.diagnosis import places, words, work
from trainingjobs.diagnosis.ranks import Group, Speaker
from trainingjobs.diagnosis.said import Said
from trainingjobs.diagnosis.speakers import overdue
from trainingjobs.diagnosis.stages import parting

_LATE = 2
"""Intervals."""
ORDER = "every rank has to call the same collectives in the same order"
EQUAL_BATCHES = (
    "give each rank the same number of batches (DistributedSampler, drop_last) or use torch's Join"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Guilt:
    """The guilty ranks, none where all stand alike; where all stand, and what to do."""

    speakers: tuple[Speaker, ...] = ()
    told: str
    advice: str
    line: str | None = None


def guilty(group: Group, last: datetime) -> Guilt:
    """The first of these questions that finds somebody."""
    for question in (_finished, _silent, _elsewhere, _different):
        found = question(group, last)
        if found is not None:
            return found
    return _nobody(group)


def fallen_silent(group: Group, last: datetime, limit: timedelta) -> list[Speaker]:
    """Those of the silent ranks that were stepping when they were last heard of, a limit ago.

    One that was at a long work may still be: its reports do not arrive. The last report of one
    that is stopped may be some intervals older than the last step of the others.
    """
    return [
        speaker
        for speaker in silenced(group, last)
        if group.now >= condemned(speaker, limit) and not work.worked(speaker)
    ]


def condemned(speaker: Speaker, limit: timedelta) -> datetime:
    """When a silent rank has been silent for long enough to be at fault for a stall."""
    return speaker.heard + limit - _LATE * speaker.entry.interval


def silenced(group: Group, last: datetime) -> list[Speaker]:
    """Ranks that have not been heard of since about when the group stopped.

    One that was silent while the others went on is only not heard; and one that said after the
    stop that it waits for the others is a victim that fell silent later.
    """
    return [
        speaker
        for speaker in group.live
        if speaker.silent and overdue(speaker.entry) > last and not _waited(speaker, last)
    ]


def _waited(speaker: Speaker, last: datetime) -> bool:
    entry = speaker.entry
    return work.waits(speaker.report) and entry.received > last + entry.interval


def _finished(group: Group, _: datetime) -> Guilt | None:
    """Ranks that are gone while others wait for them; where nobody does, they may go."""
    left = [speaker for speaker in group.speakers if speaker.gone]
    needed = any(not parting(one.report) for one in _inside(group))
    if not left or not needed:
        return None
    steps = left[0].report.steps
    said = f"finished after {steps} step{'' if steps == 1 else 's'}"
    line = left[0].report.lines.step
    return _blame(group, left, said, EQUAL_BATCHES, line)


def _silent(group: Group, last: datetime) -> Guilt | None:
    silent = silenced(group, last)
    if not silent:
        return None
    first = silent[0]
    since = words.second(first.entry.received)
    said = f"silent since {since}, last seen at {words.at(first.report)}"
    advice = (
        f"its process or its node is stopped, or a call holds the interpreter: look at pod "
        f"{first.pod.name}{f' and node {first.pod.node}' if first.pod.node else ''}"
    )
    return _blame(group, silent, f"{'is' if len(silent) == 1 else 'are'} {said}", advice)


def _elsewhere(group: Group, _: datetime) -> Guilt | None:
    """Ranks outside of all collectives while others are in one."""
    inside = {speaker.number for speaker in _inside(group)}
    outside = [speaker for speaker in group.vocal if speaker.number not in inside]
    if not outside or len(outside) == len(group.vocal):
        return None
    loading = places.loads(outside[0].report)
    advice = (
        "look at what its data loader reads"
        if loading
        else "see what holds it there, or which collective it has left out"
    )
    return _blame(group, outside, _standing(outside), advice)


def _different(group: Group, _: datetime) -> Guilt | None:
    """Ranks at another collective, or at another of the same, than most."""
    for key in (_place, _sequence):
        parts = words.gathered(group.vocal, key)
        if len(parts) > 1:
            return _minority(group, parts, key)
    return None


def _minority(
    group: Group, parts: Sequence[list[Speaker]], key: Callable[[Speaker], object]
) -> Guilt:
    most = len(parts[0])
    if len(parts[-1]) == most:
        parts = sorted(parts, key=lambda own: _sequence(own[0]), reverse=True)
        if _sequence(parts[0][0]) == _sequence(parts[-1][0]):
            return _undecided(parts)
    few = [part for part in parts if len(part) < most] or [parts[-1]]
    outvoted = sorted((own for part in few for own in part), key=lambda own: own.number)
    counted = ""
    if key is _sequence:
        counted = f" after {outvoted[0].report.sequence} collectives"
    return _blame(group, outvoted, f"{_standing(outvoted)}{counted}", ORDER)


def _undecided(parts: Sequence[list[Speaker]]) -> Guilt:
    """As many here as there: all are named."""
    speakers = sorted((own for part in parts for own in part), key=lambda own: own.number)
    line = places.line(speakers[0].report)
    told = words.together(speakers)
    return Guilt(speakers=tuple(speakers), told=told, advice=ORDER, line=line)


def _nobody(group: Group) -> Guilt:
    """All stand at the same place: no rank is to blame, unless it is the only one left."""
    first = group.vocal[0].report
    many = len(group.vocal) > 1
    there = words.stand(first, many=many)
    who = "all ranks" if many and len(group.vocal) == group.world else _who(group)
    advice = (
        "look at the network between the pods (NetworkPolicy, NCCL and gloo interfaces)"
        if many and _inside(group)
        else "see what holds them there"
        if many
        else "see what holds it there"
    )
    alone = group.live if len(group.live) == 1 else ()
    return Guilt(speakers=alone, told=f"{who} {there}", advice=advice, line=places.line(first))


def _who(group: Group) -> str:
    return words.named(group, [speaker.number for speaker in group.vocal])


def _blame(
    group: Group, speakers: Sequence[Speaker], said: str, advice: str, line: str | None = None
) -> Guilt:
    numbers = [speaker.number for speaker in speakers]
    taken = set(numbers)
    others = [speaker for speaker in group.vocal if speaker.number not in taken]
    rest = f"; {words.together(others)}" if others else ""
    return Guilt(
        speakers=tuple(speakers),
        told=f"{words.named(group, numbers)} {said}{rest}",
        advice=advice,
        line=line or places.line(speakers[0].report),
    )


def _standing(speakers: Sequence[Speaker]) -> str:
    parts = words.gathered(speakers, _place)
    many = len(speakers) > 1
    rest = f" (and {len(parts) - 1} places more)" if len(parts) > 1 else ""
    return f"{words.stand(parts[0][0].report, many=many)}{rest}"


def _inside(group: Group) -> list[Speaker]:
    """Ranks that wait for others, as far as can be seen."""
    idle = work.idle(group)
    return [speaker for speaker in group.vocal if _waits(speaker.report, idle=idle)]


def _waits(report: Said, *, idle: bool) -> bool:
    """True in a collective; a wait for the accelerator is for a rank that idles elsewhere."""
    if work.for_its_device(report):
        return idle
    return work.waits(report) or work.spins(report)


def _place(speaker: Speaker) -> tuple[str, str]:
    return places.place(speaker.report)


def _sequence(speaker: Speaker) -> int:
    return speaker.report.sequence or 0
