"""Whether two ranks look at the same data, told cheaply and without fetching a sample.

A script that divides its data by hand gives each rank a data set of its own: a subset with other
indices, a list of other files. What a data set holds is sampled, never its samples.
"""

from __future__ import annotations

import hashlib
from typing import Any

DEEPEST = 4
"""Data sets inside of data sets."""
WIDEST = 32
"""Attributes of one data set."""
SAMPLES = 16
"""Entries of one list."""


def of(dataset: Any) -> str | None:
    """Equal for equal data; None where nothing can be said."""
    if dataset is None:
        return None
    seen: list[str] = []
    _look(dataset, seen, DEEPEST)
    return hashlib.sha256("\n".join(seen).encode("utf-8", "replace")).hexdigest()[:32]


def _look(thing: Any, seen: list[str], deep: int) -> None:
    """Write down what a value looks like."""
    if thing is None or isinstance(thing, (bool, int, float, str)):
        seen.append(repr(thing)[:512])
        return
    seen.append(type(thing).__qualname__)
    if deep <= 0:
        return
    if isinstance(thing, (list, tuple, range)):
        _look_at_list(thing, seen, deep)
    elif hasattr(type(thing), "shape") and hasattr(type(thing), "dtype"):
        _look_at_array(thing, seen)
    elif isinstance(thing, dict):
        seen.append(str(len(thing)))
        for name in list(thing)[:WIDEST]:
            seen.append(repr(name)[:512] if isinstance(name, (str, int)) else "?")
            _look(thing[name], seen, deep - 1)
    else:
        _look_inside(thing, seen, deep)


def _look_at_list(thing: Any, seen: list[str], deep: int) -> None:
    seen.append(str(len(thing)))
    for place in _places(len(thing)):
        _look(thing[place], seen, deep - 1)


def _look_at_array(thing: Any, seen: list[str]) -> None:
    """A tensor or an array: its shape, and some of its elements where these are near."""
    seen.append(f"{tuple(thing.shape)} {thing.dtype}")
    if str(getattr(thing, "device", "cpu")) != "cpu" or not len(thing.shape):
        return
    for place in _places(int(thing.shape[0])):
        element = thing[place]
        while len(getattr(element, "shape", ())):
            element = element[int(element.shape[0]) // 2]
        seen.append(repr(element.item()) if hasattr(element, "item") else repr(element)[:64])


def _look_inside(thing: Any, seen: list[str], deep: int) -> None:
    """Any other object: its own attributes, in the order of their names."""
    held = getattr(thing, "__dict__", None)
    if not isinstance(held, dict):
        return
    for name in sorted(map(str, held))[:WIDEST]:
        seen.append(name)
        _look(held.get(name), seen, deep - 1)


def _places(length: int) -> list[int]:
    """Some places all over a list, both ends among them."""
    if length <= SAMPLES:
        return list(range(length))
    return [place * (length - 1) // (SAMPLES - 1) for place in range(SAMPLES)]
