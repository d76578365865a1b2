"""How far the training has come, in words and numbers that fit a resource."""

import math

from trainingjobs.model.finding import Headway
from trainingjobs.model.report import MAX_METRICS
from trainingjobs.model.training import Training

_LONGEST_ETA = 2**31 - 1
_LARGE, _HUGE = 1e4, 1e9
"""From where to where a number is written without its fraction."""
_WIDE_STEP = 10_000_000


def training(old: Training | None, headway: Headway | None, *, steps: bool) -> Training | None:
    """The old training brought up to date; a rate is told with the step that it belongs to.

    Args:
        old: what was last told of this attempt.
        headway: what is known now, if anything is.
        steps: false once the group does not step any more, so that there is no rate.
    """
    told = old if headway is None else _told(headway)
    if told is None or not steps:
        return told and told.model_copy(update={"steps_per_second": None, "eta_seconds": None})
    return old if old is not None and _still(old) == _still(told) else told


def progress(training: Training | None) -> str | None:
    """`40%` where the end is known, else `step 1200`."""
    if training is None:
        return None
    if training.total_steps:
        return f"{min(100 * training.step // training.total_steps, 100)}%"
    step = training.step
    return f"step {step}" if step < _WIDE_STEP else f"step {step / 1e6:.4g}M"


def number(value: float) -> str:
    """The number in about four digits: `0.0123`, `3.2`, `NaN`."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return f"{value:.0f}" if _LARGE <= abs(value) < _HUGE else f"{value:.4g}"


def _told(headway: Headway) -> Training:
    return Training(
        step=headway.step,
        counted_by="Script" if headway.told else "Optimizer",
        total_steps=headway.total,
        steps_per_second=None if headway.rate is None else number(headway.rate),
        eta_seconds=_eta(headway),
        epoch=None if headway.epoch is None else number(headway.epoch),
        metrics={name: number(value) for name, value in headway.metrics[:MAX_METRICS]},
    )


def _eta(headway: Headway) -> int | None:
    if headway.total is None or not headway.rate:
        return None
    left = max(headway.total - headway.step, 0)
    # a rate may be so small that the quotient is no number
    return math.ceil(left / headway.rate) if left < headway.rate * _LONGEST_ETA else _LONGEST_ETA


def _still(training: Training) -> Training:
    """What does not change while no step is done."""
    return training.model_copy(update={"steps_per_second": None, "eta_seconds": None})
