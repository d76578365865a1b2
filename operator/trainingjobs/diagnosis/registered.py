"""Have all ranks joined the group? If not: which are missing, where they stand, and why.

What is not heard of is not missing for that alone: its reports may be blocked. A group that
trains with its gradients exchanged, or whose master came through, is whole.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from trainingjobs.diagnosis import absence, words
from trainingjobs.diagnosis.outcome import Outcome, found, wrong
from trainingjobs.diagnosis.ranks import Group, Speaker
from trainingjobs.diagnosis.stages import bound, trains
from trainingjobs.model import names
from trainingjobs.model.finding import Fact, Finding, Kind
from trainingjobs.model.report import Stage
from trainingjobs.model.spec import Framework
from trainingjobs.model.text import cut

ALL_JOINED = "AllRanksJoined"
JOINING = "RanksJoining"
"""All are there, and the process group forms."""
NOBODY = "NoRankJoinsYet"
NO_GROUP = "NoProcessGroup"
PATIENCE = timedelta(seconds=30)
"""How long ranks may wait for the others before that is a finding."""
CONNECTING = timedelta(minutes=2)
"""How long it may take when all have come: on a machine that is busy it was seen to take one."""
EXPECTED = timedelta(minutes=10)
"""How long a process group is expected of ranks of which none asks for one."""


def registered(group: Group) -> Outcome:
    """What is known of the process group."""
    there = [speaker for speaker in group.speakers if _came(speaker)]
    if not there:
        return _nobody(group)
    strangers = _strangers(group)
    if strangers:
        return _apart(group, strangers)
    missing = _missing(group)
    if not missing:
        return Outcome(fact=Fact(truth=True, reason=ALL_JOINED, message=_all(group)))
    absent = [number for number in missing if not _arrived(group, number)]
    if absent:
        return _absent(group, absent, min(speaker.since for speaker in there))
    return _unconnected(group, missing)


def whole(group: Group) -> bool:
    """True when what was heard proves that every rank has joined, heard of or not."""
    return any(
        (speaker.number == names.MASTER_RANK or (trains(speaker.report) and bound(speaker.report)))
        and group.belongs(speaker)
        for speaker in group.speakers
    )


def _missing(group: Group) -> list[int]:
    """Ranks that are not known to have joined."""
    strange = [speaker for speaker in group.speakers if not group.belongs(speaker)]
    if whole(group):
        return [speaker.number for speaker in strange if not speaker.silent]
    return sorted([*group.unheard, *(speaker.number for speaker in strange)])


def _came(speaker: Speaker) -> bool:
    return speaker.joined or speaker.report.stage is Stage.JOINING


def _arrived(group: Group, number: int) -> bool:
    speaker = group.by_number.get(number)
    return speaker is not None and speaker.report.stage is Stage.JOINING and not speaker.gone


def _all(group: Group) -> str:
    unheard = group.unheard
    said = f", though {words.several(unheard)} cannot be heard" if unheard else ""
    return f"all {group.world} ranks joined{said}"


def _nobody(group: Group) -> Outcome:
    """Nobody has called init_process_group: known only where one is to be expected."""
    expected = group.world > 1 and group.job.spec.framework is Framework.PYTORCH
    running = [group.pods[i].running for i in range(group.job.size) if i in group.pods]
    if not (expected and group.live and len(running) == group.job.size and all(running)):
        return Outcome()
    if all(trains(speaker.report) for speaker in group.live):
        said = f"{words.several([s.number for s in group.live])} train without a process group"
        return Outcome(fact=Fact(truth=None, reason=NO_GROUP, message=said))
    due = max(speaker.entry.first for speaker in group.live) + EXPECTED
    if group.now >= due:
        said = f"no rank of {group.world} has asked for a process group"
        return Outcome(fact=Fact(truth=None, reason=NO_GROUP, message=said))
    said = f"0 of {group.world} ranks joined: {words.together(group.live)}"
    return Outcome(fact=Fact(truth=False, reason=NOBODY, message=cut(said)), moments=(due,))


def _strangers(group: Group) -> list[Speaker]:
    """Ranks whose process group is not the job's: each pod may train alone."""
    least = group.job.size
    return [
        speaker
        for speaker in group.speakers
        if (speaker.report.world_size or least) < least and _came(speaker)
    ]


def _apart(group: Group, strangers: Sequence[Speaker]) -> Outcome:
    numbers = [speaker.number for speaker in strangers]
    first = strangers[0].report
    line = first.lines.init
    each = " each" if len(numbers) > 1 else ""
    said = (
        f"{words.named(group, numbers)}{each} joined a process group of {first.world_size}, not "
        f"of {group.world}: let init_process_group{f' at {words.clip(line)}' if line else ''} take "
        "rank and world size from the environment"
    )
    return wrong(found(Kind.MISSING, numbers, said, line))


def _absent(group: Group, absent: Sequence[int], waiting: datetime) -> Outcome:
    """Some have not come to init_process_group while others wait there."""
    here = group.world - len(absent)
    said = (
        f"{here} of {group.world} ranks joined, missing {words.compact(absent)}: "
        f"{absence.reasons(group, absent)}"
    )
    speaker = group.by_number.get(absent[0])
    line = absence.own_line(speaker) if speaker else None
    return _told(group, found(Kind.MISSING, absent, said, line), waiting + PATIENCE)


def _unconnected(group: Group, missing: Sequence[int]) -> Outcome:
    """All have come, and some do not come through."""
    stuck = [speaker for speaker in map(group.by_number.get, missing) if speaker is not None]
    due = max(speaker.since for speaker in stuck) + CONNECTING
    workers = [speaker.number for speaker in stuck if speaker.number != names.MASTER_RANK]
    guilty = workers or [names.MASTER_RANK]
    if group.now < due:
        said = f"all {group.world} ranks are in init_process_group"
        fact = Fact(truth=False, reason=JOINING, message=said)
        return Outcome(fact=fact, moments=(due,))
    line = stuck[-1].report.lines.init
    master = f"{group.pod_name(names.MASTER_RANK)}.{names.service(group.job.name)}"
    said = (
        f"{words.named(group, guilty)} {'is' if len(guilty) == 1 else 'are'} in "
        f"init_process_group{f' at {words.clip(line)}' if line else ''} since "
        f"{words.minute(due - CONNECTING)} and cannot resolve or reach "
        f"{master}:{group.job.spec.port}, or another rank: look at NetworkPolicies, sidecars and "
        "GLOO_SOCKET_IFNAME"
    )
    return _told(group, found(Kind.MISSING, guilty, said, line), due)


def _told(group: Group, finding: Finding, due: datetime) -> Outcome:
    """The condition says it at once, the finding when it has lasted."""
    outcome = wrong(finding)
    return outcome if group.now >= due else replace(outcome, findings=(), moments=(due,))
