"""What the user's script tells by `trainingjob.report`: kept small, whatever it was."""

from __future__ import annotations

import math
import re

from _trainingjob import _begin, _frames, _standing, _thread
from _trainingjob._guard import came_from_outside
from _trainingjob._rhythm import BEAT, TALE, clock
from _trainingjob._standing import ME

METRIC = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]{0,62}")
METRICS = 16
LARGEST = 2**53
LONGEST = 1e9


def tell(step: object, total: object, epoch: object, words: dict[str, object]) -> None:
    """Keep the latest; the first call also begins the reports where nothing else has."""
    _begin.begin()
    _begin.reborn()
    found = {"step": _whole(step), "total": _whole(total), "epoch": _span(epoch)}
    ME.now.told.update({name: value for name, value in found.items() if value is not None})
    said = {name: words.pop(name, None) for name in ("sharded", "wrapped")}
    ME.now.told.update({name: bool(value) for name, value in said.items() if value is not None})
    _keep_metrics(words)
    BEAT.sign(clock())
    if step is not None:
        _tell_step()


def _tell_step() -> None:
    """Where no optimizer of torch is seen to step, the script's own count is the rhythm."""
    now = ME.now.told.get("step", 0)
    TALE.count(clock(), now)
    if now and not BEAT.steps and _standing.STEPPING not in ME.now.reached:
        ME.now.lines.setdefault("step", _frames.owner() or "")
        _thread.stage(_standing.STEPPING)


def _keep_metrics(words: dict[str, object]) -> None:
    metrics = dict(ME.now.told["metrics"])
    for name, value in words.items():
        number = _number(value)
        fits = METRIC.fullmatch(name) and (name in metrics or len(metrics) < METRICS)
        if number is not None and fits:
            metrics[name] = number
    ME.now.told["metrics"] = metrics


def _number(value: object) -> float | str | None:
    """A number as JSON has it; what JSON has no number for is a word."""
    if value is None or isinstance(value, (str, bytes)):
        return None
    try:
        number = float(value)  # type: ignore[arg-type]
    except Exception as error:
        if came_from_outside(error):
            raise
        return None  # whatever a foreign type raises: it is no number
    if math.isfinite(number):
        return number
    return "NaN" if math.isnan(number) else ("Infinity" if number > 0 else "-Infinity")


def _whole(value: object) -> int | None:
    number = _number(value)
    if not isinstance(number, float) or not 0 <= number <= LARGEST:
        return None
    return int(number)


def _span(value: object) -> float | None:
    number = _number(value)
    return number if isinstance(number, float) and 0 <= number <= LONGEST else None
