"""How the training went, for a picture: a few numbers now and then, of so many jobs.

The resource tells where a job is, and not how it came there. What is kept here is for people who
look on while it trains: it is in memory alone, begins when this process does, and is thinned
where it gets long. Nothing is decided by it.
"""

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

POINTS = 240
METRICS = 4
JOBS = 512
_FIXED = 2
"""Columns that every training has: step and rate."""

Row = tuple[float | None, ...]


@dataclass(slots=True)
class Curve:
    """One job's: columns of numbers, none of which is longer than the others."""

    names: list[str] = field(default_factory=list)
    """The first metrics that it told; the columns behind step and rate."""
    _times: "array[float]" = field(default_factory=lambda: array("d"))
    _columns: "list[array[float]]" = field(
        default_factory=lambda: [array("d") for _ in range(_FIXED + METRICS)]
    )
    _every: int = 1
    _skipped: int = 0

    def __len__(self) -> int:
        return len(self._times)

    def note(self, time: float, training: Mapping[str, Any]) -> None:
        """Take in where the training is; what is told more often than it is kept is left out."""
        self._skipped += 1
        if self._skipped < self._every:
            return
        self._skipped = 0
        metrics = training.get("metrics") or {}
        self.names += [it for it in metrics if it not in self.names][: METRICS - len(self.names)]
        values = [training.get("step"), training.get("stepsPerSecond")]
        values += [metrics.get(name) for name in self.names]
        values += [None] * (_FIXED + METRICS - len(values))
        self._times.append(time)
        for column, value in zip(self._columns, values, strict=True):
            column.append(_number(value))
        if len(self._times) > POINTS:
            self._thin()

    def told(self) -> dict[str, Any]:
        """For JSON, which has no NaN."""
        rows = [[round(time, 1), *values] for time, values in zip(self._times, self._rows())]  # noqa: B905
        return {"columns": ["step", "rate", *self.names], "rows": rows}

    def _rows(self) -> Iterator[Row]:
        shown = self._columns[: _FIXED + len(self.names)]
        for values in zip(*shown, strict=True):
            yield tuple(it if math.isfinite(it) else None for it in values)

    def _thin(self) -> None:
        """Every other point goes, and from now on half as many come."""
        self._every *= 2
        self._times = self._times[::2]
        self._columns = [column[::2] for column in self._columns]


class Curves:
    """Those of the jobs that train, by uid: who has one keeps it.

    Where there is no room, a job that begins gets none: one in the place of another would leave
    all of them with a single point.
    """

    def __init__(self) -> None:
        self._known: dict[str, Curve] = {}

    def __len__(self) -> int:
        return len(self._known)

    def note(self, time: float, jobs: Iterable[Mapping[str, Any]]) -> None:
        """Look at all jobs once; those that do not train are left while there is room."""
        seen = {body["metadata"]["uid"]: _moving(body) for body in jobs}
        self._known = {uid: curve for uid, curve in self._known.items() if uid in seen}
        idle = iter([uid for uid in self._known if not seen[uid]])
        for uid, training in seen.items():
            curve = self._of(uid, idle) if training else None
            if training and curve is not None:
                curve.note(time, training)

    def told(self, uid: str) -> dict[str, Any]:
        """One job's, for JSON; empty where nothing was seen of it."""
        return (self._known.get(uid) or Curve()).told()

    def _of(self, uid: str, idle: Iterator[str]) -> Curve | None:
        """Its curve; None where there is no room for one."""
        if uid not in self._known and len(self._known) >= JOBS:
            over = next(idle, None)
            if over is None:
                return None
            del self._known[over]
        return self._known.setdefault(uid, Curve())


def _moving(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What a job that is not over tells of its training."""
    status = body.get("status") or {}
    found: Mapping[str, Any] | None = status.get("training")
    return None if status.get("completionTime") else found


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan
