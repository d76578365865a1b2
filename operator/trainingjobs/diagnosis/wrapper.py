"""Are the replicas bound together, or does each train for itself?"""

from collections.abc import Sequence

from trainingjobs.diagnosis import words
from trainingjobs.diagnosis.data import TOLD, UNDECIDED
from trainingjobs.diagnosis.outcome import Outcome, found, wrong
from trainingjobs.diagnosis.ranks import Group, Speaker
from trainingjobs.diagnosis.said import Said
from trainingjobs.model.finding import Fact, Kind
from trainingjobs.model.report import Exchange

WRAPPED = "ModelWrapped"
_STEPS = 20
_APART = frozenset({Exchange.NONE, Exchange.LITTLE})


def wrapped(group: Group) -> Outcome:
    """What is known of the model's wrapper."""
    speakers = group.speakers
    if group.world == 1 or not speakers:
        return Outcome()
    if True in {report.told.wrapped for report in group.reports}:
        return Outcome(fact=Fact(truth=True, reason=TOLD))
    bare = [speaker for speaker in speakers if speaker.report.model.wrapper is None]
    if not bare:
        name = speakers[0].report.model.wrapper or ""
        return Outcome(fact=Fact(truth=True, reason=WRAPPED, message=words.clip(name)))
    if any(speaker.report.steps < _STEPS for speaker in bare):
        return Outcome()
    if all(_apart(speaker.report) for speaker in bare):
        return _unwrapped(group, bare)
    exchanges = {speaker.report.model.exchange for speaker in bare}
    return Outcome(
        fact=Fact(truth=None, reason=UNDECIDED, message=_undecided(exchanges)),
    )


def _apart(report: Said) -> bool:
    return report.model.exchange in _APART


def _undecided(exchanges: set[Exchange]) -> str:
    if Exchange.MUCH in exchanges:
        return "no wrapper, but the ranks exchange as much as gradients averaged by hand would be"
    return ""


def _unwrapped(group: Group, bare: Sequence[Speaker]) -> Outcome:
    numbers = [speaker.number for speaker in bare]
    report = bare[0].report
    line = report.lines.step
    before = f" before {words.clip(line)}" if line else ""
    said = f"{_who(group, bare)}: {_advice(bare)}{before}"
    return wrong(found(Kind.UNWRAPPED, numbers, said, line))


def _who(group: Group, bare: Sequence[Speaker]) -> str:
    if len(bare) == len(group.speakers):
        return f"the replicas of {group.world} ranks train apart"
    numbers = words.several([speaker.number for speaker in bare])
    return f"{numbers} {'trains' if len(bare) == 1 else 'train'} apart from the others"


def _advice(bare: Sequence[Speaker]) -> str:
    if any(speaker.joined for speaker in bare):
        return "wrap the model in DistributedDataParallel"
    return "call init_process_group and wrap the model in DistributedDataParallel"
