"""The one function that asks all questions about a group: what is true, what is wrong.

Law: nothing here remembers. The same reports, pods and time give the same answer, in whatever
order they came; and `look_again` is the next moment at which time alone could change it.
"""

from datetime import datetime, timedelta

from trainingjobs.diagnosis import (
    data,
    leaving,
    ranks,
    registered,
    replicas,
    stages,
    stall,
    wrapper,
)
from trainingjobs.diagnosis.headway import headway
from trainingjobs.diagnosis.outcome import Outcome
from trainingjobs.diagnosis.ranks import Group
from trainingjobs.diagnosis.speakers import overdue
from trainingjobs.diagnosis.stacks import stacks
from trainingjobs.diagnosis.straggler import straggler
from trainingjobs.model.finding import Diagnosis
from trainingjobs.model.job import TrainingJob
from trainingjobs.model.observed import Observed

_ALL_HEARD = timedelta(minutes=2)
"""After so long, who is heard of at all has been heard, though the operator was away."""


def diagnose(job: TrainingJob, seen: Observed, now: datetime) -> Diagnosis:
    """All that the roll call knows of the current attempt; nothing where nobody has reported.

    Args:
        job: what is asked for, with the status as it was last written.
        seen: its pods, and the roll of the current attempt.
        now: the time, aware of its zone.
    """
    if not seen.roll.entries:
        return Diagnosis()
    group = ranks.group(job, seen, now)
    joined, still = registered.registered(group), stall.stalled(group)
    divided, bound = data.sharded(group), wrapper.wrapped(group)
    answers = (
        still,
        joined,
        leaving.early(group),
        replicas.checksums(group),
        divided,
        bound,
        replicas.devices(group),
        Outcome() if still.findings else straggler(group),
        data.epochs(group),
        leaving.undestroyed(group),
    )
    guilty = frozenset(rank for finding in still.findings for rank in finding.ranks)
    return Diagnosis(
        ranks=ranks.standings(group),
        registered=joined.fact,
        stalled=still.fact,
        sharded=divided.fact,
        wrapped=bound.fact,
        findings=tuple(finding for answer in answers for finding in answer.findings),
        headway=headway(group, stalled=bool(still.findings)),
        stacks=stacks(group, guilty) if still.findings else "",
        partial=partial_until(group) is not None,
        look_again=_look_again(group, answers),
    )


def _look_again(group: Group, answers: tuple[Outcome, ...]) -> datetime | None:
    """The next moment at which somebody's patience ends, or a report is overdue.

    Also that of one whose pod has ended: another process may speak for its rank from then on.
    """
    moments = [moment for answer in answers for moment in answer.moments]
    moments += [speaker.overdue for speaker in group.vocal]
    moments += [
        overdue(speaker.entry)
        for speaker in group.speakers
        if speaker.gone and not stages.gone(speaker.report)
    ]
    part = partial_until(group)
    moments += [part] if part else []
    return min([moment for moment in moments if moment > group.now], default=None)


def partial_until(group: Group) -> datetime | None:
    """Until when others may be heard that were not yet: the operator may have started anew."""
    if not group.unheard or not group.speakers:
        return None
    due = min([speaker.entry.first for speaker in group.speakers]) + _ALL_HEARD
    return due if group.now < due else None
