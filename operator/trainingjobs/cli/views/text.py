"""Tables and times, as kubectl writes them."""

from collections.abc import Iterable, Sequence
from datetime import datetime

_GAP = "   "
_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86_400, 365 * 86_400
NONE = "<none>"


def columns(rows: Iterable[Sequence[str]]) -> list[str]:
    """The rows as lines whose columns stand below each other."""
    kept = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*kept, strict=True)]
    return [
        _GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in kept
    ]


def fields(pairs: Iterable[tuple[str, object]]) -> list[str]:
    """Names and values below each other; what has no value is left out."""
    kept = [(f"{name}:", str(value)) for name, value in pairs if value not in {None, ""}]
    width = max((len(name) for name, _ in kept), default=0)
    return [f"{name.ljust(width)}  {value}" for name, value in kept]


def since(then: datetime | None, now: datetime) -> str:
    """How long ago, in kubectl's short form."""
    return NONE if then is None else span((now - then).total_seconds())


def span(seconds: float) -> str:
    """`45s`, `2m10s`, `13m`, `5h2m`, `3d`: shorter the longer it is."""
    whole = max(int(seconds), 0)
    for limit, unit, name, part, small in _FORMS:
        if whole < limit:
            rest = whole % unit // part if part else 0
            return f"{whole // unit}{name}" + (f"{rest}{small}" if rest else "")
    return f"{whole // _YEAR}y"


_FORMS = (
    (2 * _MINUTE, 1, "s", 0, ""),
    (10 * _MINUTE, _MINUTE, "m", 1, "s"),
    (3 * _HOUR, _MINUTE, "m", 0, ""),
    (8 * _HOUR, _HOUR, "h", _MINUTE, "m"),
    (2 * _DAY, _HOUR, "h", 0, ""),
    (8 * _DAY, _DAY, "d", _HOUR, "h"),
    (2 * _YEAR, _DAY, "d", 0, ""),
)
