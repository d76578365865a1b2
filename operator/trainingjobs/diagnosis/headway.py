"""How far the training as a whole has come: what the script tells goes before what is counted."""

from collections.abc import Sequence
from statistics import median

from trainingjobs.diagnosis.ranks import Group, Speaker
from trainingjobs.diagnosis.stages import trains
from trainingjobs.model.finding import Headway


def headway(group: Group, *, stalled: bool) -> Headway | None:
    """The step that all ranks have done, of how many, and how fast.

    Where only some ranks tell their steps, most often the master, they speak for all: the
    optimizer's own count starts at 0 again after a restart from a checkpoint.
    """
    heard = [s for s in group.speakers if not s.silent] or list(group.speakers)
    training = [speaker for speaker in heard if trains(speaker.report)]
    if not training:
        return None
    tellers = [speaker for speaker in training if speaker.report.told.step is not None]
    first = _first(group.speakers)
    return Headway(
        step=min(map(_step, tellers or training)),
        told=bool(tellers),
        total=first.report.told.total if first else None,
        rate=0.0 if stalled else _rate(training),
        epoch=first.report.told.epoch if first else None,
        metrics=_metrics(first) if first else (),
    )


def _step(speaker: Speaker) -> int:
    told = speaker.report.told.step
    return speaker.report.steps if told is None else told


def _first(speakers: Sequence[Speaker]) -> Speaker | None:
    """The lowest rank whose script tells anything."""
    return next((speaker for speaker in speakers if _tells(speaker)), None)


def _tells(speaker: Speaker) -> bool:
    told = speaker.report.told
    return bool(told.metrics) or not (
        told.step is None and told.total is None and told.epoch is None
    )


def _metrics(speaker: Speaker) -> tuple[tuple[str, float], ...]:
    metrics = speaker.report.told.metrics
    return tuple((name, float(value)) for name, value in sorted(metrics.items()))


def _rate(training: Sequence[Speaker]) -> float | None:
    rates = [s.report.rate for s in training if s.report.rate > 0 and not s.gone]
    return median(rates) if rates else None
