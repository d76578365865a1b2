"""Do the ranks divide the data, and is it shuffled anew in each epoch?

Ranks that read the same data may do so rightly (tensor or pipeline parallel), so only a group
that is known to train replicas, or to exchange nothing at all, can have forgotten the sampler.
"""

from collections.abc import Sequence

from trainingjobs.diagnosis import words
from trainingjobs.diagnosis.outcome import Outcome, found, wrong
from trainingjobs.diagnosis.ranks import Group
from trainingjobs.diagnosis.said import Said
from trainingjobs.model.finding import Fact, Kind
from trainingjobs.model.report import Data, Exchange

SAMPLER = "DistributedSampler"
BY_HAND = "ShardedByHand"
TOLD = "ToldByScript"
UNDECIDED = "NotKnown"
MODEL_PARALLEL = frozenset({"PipelineStage", "parallelize_module", "distribute_module"})
"""Wrappers that divide the model: its parts differ, and may rightly read the same data."""
_STEPS = 3
_EPOCHS = 2


def sharded(group: Group) -> Outcome:
    """What is known of how the data is divided."""
    reports = group.reports
    if group.world == 1 or not reports or min([report.steps for report in reports]) < _STEPS:
        return Outcome()
    if True in {report.told.sharded for report in reports}:
        return _fact(truth=True, reason=TOLD)
    return _by_sampler(group)


def _by_sampler(group: Group) -> Outcome:
    samplers = {report.data.sampler for report in group.reports}
    if samplers == {None}:
        return Outcome()
    if samplers == {"distributed"}:
        return _fact(truth=True, reason=SAMPLER)
    if samplers == {"default"} and _differ([report.data for report in group.reports]):
        return _fact(truth=True, reason=BY_HAND)
    if samplers <= {"default", "distributed"} and _alike(group.reports):
        return _unsharded(group)
    return _fact(truth=None, reason=UNDECIDED)


def epochs(group: Group) -> Outcome:
    """Whether the sampler is told of each epoch."""
    late = [one for one in group.speakers if one.report.data.epochs >= _EPOCHS]
    same = [speaker for speaker in late if _forgets(speaker.report.data)]
    if not same:
        return Outcome()
    lines = same[0].report.lines
    there = (
        f" before the loop over the loader of {words.clip(lines.loader)}" if lines.loader else ""
    )
    said = (
        f"every epoch has the same order in {words.several([s.number for s in same])}: call the "
        f"DistributedSampler's set_epoch(epoch){there}"
    )
    numbers = [speaker.number for speaker in same]
    return Outcome(findings=(found(Kind.EPOCH, numbers, said, lines.sampler or lines.loader),))


def _fact(*, truth: bool | None, reason: str) -> Outcome:
    return Outcome(fact=Fact(truth=truth, reason=reason))


def _differ(data: Sequence[Data]) -> bool:
    """True when no two ranks are known to read data that looks alike."""
    prints = [item.fingerprint for item in data]
    return len(data) > 1 and None not in prints and len(set(prints)) == len(prints)


def _alike(reports: Sequence[Said]) -> bool:
    """True when replicas that should divide the data are seen to read the same."""
    plain = [report for report in reports if report.data.sampler == "default"]
    looks = {(report.data.samples, report.data.fingerprint) for report in plain}
    known = len(looks) == 1 and None not in next(iter(looks))
    return known and len(reports) > 1 and all(map(_replica, plain))


def _replica(report: Said) -> bool:
    model = report.model
    apart = model.exchange in {Exchange.NONE, Exchange.LITTLE}
    return apart if model.wrapper is None else model.wrapper not in MODEL_PARALLEL


def _unsharded(group: Group) -> Outcome:
    plain = [s for s in group.speakers if s.report.data.sampler == "default"]
    numbers = [speaker.number for speaker in plain]
    report = plain[0].report
    line = report.lines.loader
    who = f"each of {group.world} ranks" if len(plain) == group.world else words.several(numbers)
    verb = "train" if len(plain) > 1 and len(plain) < group.world else "trains"
    said = (
        f"{who} {verb} on all {report.data.samples} samples: give the DataLoader"
        f"{f' at {words.clip(line)}' if line else ''} a DistributedSampler"
    )
    return wrong(found(Kind.UNSHARDED, numbers, said, line))


def _forgets(data: Data) -> bool:
    return data.sampler == "distributed" and data.shuffle and not data.epoch_set
