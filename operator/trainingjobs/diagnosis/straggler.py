"""Which ranks take much longer than the others before each exchange, so that all wait for them.

In a group that steps together all ranks are equally fast: what differs is the time that each
spends on its own work. A rank that was told once has to come much nearer to the others than it
had to be away from them, so that one at the border is not told again and again.
"""

from bisect import bisect_left
from collections.abc import Collection, Sequence
from statistics import median

from trainingjobs.diagnosis import words
from trainingjobs.diagnosis.outcome import Outcome, found
from trainingjobs.diagnosis.ranks import Group, Speaker
from trainingjobs.model import ranks
from trainingjobs.model.finding import Finding, Kind
from trainingjobs.model.report import Exchange

_STEPS = 20
"""Steps that must be done: the first ones compile and fill caches."""
_FACTOR = 2.0
_FACTOR_TOLD = 1.5
_SECONDS = 0.1
"""More than the others: below that it is not worth a word."""
_SHARE = 0.2
"""Of a whole step."""
_MOST = 0.5


def straggler(group: Group) -> Outcome:
    """The ranks that all others wait for in each step."""
    paced = [(own, speaker) for speaker in group.vocal if (own := _own(speaker)) is not None]
    if len(paced) < 2:  # noqa: PLR2004 - one rank has nobody to be slower than
        return Outcome()
    ordered = sorted([own for own, _ in paced])
    if ordered[-1] - ordered[0] <= _SECONDS:
        return Outcome()
    told = _told(group)
    slow = [
        (own, speaker)
        for own, speaker in paced
        if _lags(own - _others(ordered, own), own, speaker, told)
    ]
    return Outcome(findings=(_finding(group, slow, ordered),)) if slow else Outcome()


def _own(speaker: Speaker) -> float | None:
    report = speaker.report
    paced = report.steps >= _STEPS and report.rate > 0
    return report.own_seconds if paced and report.model.exchange is not Exchange.NONE else None


def _others(ordered: Sequence[float], own: float) -> float:
    """The median of all but this one."""
    place = bisect_left(ordered, own)
    last = len(ordered) - 1
    low, high = (last - 1) // 2, last // 2
    return (ordered[low + (place <= low)] + ordered[high + (place <= high)]) / 2


def _lags(extra: float, own: float, speaker: Speaker, told: Collection[int]) -> bool:
    """True when a rank takes so much more than the others that all are slowed down."""
    factor = _FACTOR_TOLD if speaker.number in told else _FACTOR
    others = own - extra
    matters = extra > _SECONDS and extra * speaker.report.rate > _SHARE
    return matters and own > factor * others


def _told(group: Group) -> frozenset[int]:
    """Ranks of which the resource says it already."""
    found = [item.ranks for item in group.job.status.findings if item.type == Kind.STRAGGLER]
    try:
        return frozenset().union(*map(ranks.expand, found))
    except ValueError:  # shortened, where there are too many
        return frozenset()


def _finding(
    group: Group, slow: Sequence[tuple[float, Speaker]], ordered: Sequence[float]
) -> Finding:
    own, slowest = max(slow, key=lambda one: (one[0], -one[1].number))
    worst = slowest.report
    loads = (worst.data_seconds or 0.0) > _MOST * own
    numbers = [speaker.number for _, speaker in slow]
    line = worst.lines.loader if loads else worst.lines.step
    what = "its data loader" if loads else "its own work before the exchange"
    there = f" at {words.clip(line)}" if line else ""
    advice = (
        "look at its storage and at num_workers" if loads else "look at what its node does besides"
    )
    said = (
        f"{words.named(group, numbers)} {'takes' if len(slow) == 1 else 'take'} "
        f"{_seconds(own)} a step for {what}{there}, the others {_seconds(median(ordered))}, "
        f"and all wait for it: {advice}"
    )
    return found(Kind.STRAGGLER, numbers, said, line)


def _seconds(value: float) -> str:
    """One digit that counts: averages move, and a message that changes is written."""
    return f"{value:.1g} s" if value < 1 else f"{value:.0f} s"
