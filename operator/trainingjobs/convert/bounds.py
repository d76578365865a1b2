"""How large a document may be: a small text can stand for one that has no end."""

from collections.abc import Collection, Mapping
from itertools import chain, islice
from math import isfinite
from typing import Any

from trainingjobs.convert.source import NotConvertible

MAX_DEPTH = 60
MAX_NODES = 100_000


def bounded(document: Any, most: int = MAX_NODES) -> None:
    """Refuse what is too deep, too large or no JSON, however small its text is."""
    room = most
    level = [document]
    for _ in range(MAX_DEPTH):
        room -= len(level)
        if room < 0:
            raise NotConvertible(f"more than {most} values in one document")
        level = list(islice(chain.from_iterable(map(_children, level)), room + 1))
        if not level:
            return
    raise NotConvertible(f"more than {MAX_DEPTH} levels in one document")


def _children(value: Any) -> Collection[Any]:
    if isinstance(value, Mapping):
        if not all(isinstance(name, str) for name in value):
            raise NotConvertible("the name of a field must be text: put it in quotes")
        return value.values()
    if isinstance(value, list):
        return value
    if value is None or isinstance(value, str | int) or _finite(value):
        return ()
    raise NotConvertible(f"{type(value).__name__} is nothing that JSON knows")


def _finite(value: Any) -> bool:
    return isinstance(value, float) and isfinite(value)
