"""How far the training as a whole has come: what the script tells goes before what is counted."""

from collections.abc import Sequence
from statistics import median

from trainingjobs.diagnosis.ranks import Group, Speaker
from trainingjobs.diagnosis.said import Said
from trainingjobs.model.finding import Headway
from trainingjobs.model.report import Told


def headway(group: Group, *, stalled: bool) -> Headway | None:
    """The step that all ranks have done, of how many, and how fast.

    Where only some ranks tell their steps, most often the master, they speak for all: the
    optimizer's own count starts at 0 again after a restart from a checkpoint.
    """
    heard = [one.report for one in group.speakers if not one.silent] or group.reports
    told = [report.told.step for report in heard if report.told.step is not None]
    counted = [report.steps for report in heard if report.steps > 0]
    if not told and not counted:
        return None
    first = _first(group.reports)
    return Headway(
        step=min(told or counted),
        told=bool(told),
        total=first.total,
        rate=0.0 if stalled else _rate(group.live),
        epoch=first.epoch,
        metrics=tuple((name, float(value)) for name, value in sorted(first.metrics.items())),
    )


def _first(reports: Sequence[Said]) -> Told:
    """What the lowest rank tells of those whose script tells anything."""
    tales = [
        report.told
        for report in reports
        if report.told.step is not None or report.told.metrics or report.told.total
    ]
    return tales[0] if tales else Told()


def _rate(live: Sequence[Speaker]) -> float | None:
    """The usual rate of those that step."""
    rates = [speaker.report.rate for speaker in live if speaker.report.rate > 0]
    return median(rates) if rates else None
