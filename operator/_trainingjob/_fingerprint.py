"""Whether two ranks look at the same data, told cheaply and without fetching a sample.

A script that divides its data by hand gives each rank a data set of its own: a subset with other
indices, a list of other files. What a data set holds is sampled, never its samples.

No code of the user's is run for it, nor any that may read a file or open one before the loader's
workers are forked: only Python's own types, arrays and tensors in memory are looked into.
"""

from __future__ import annotations

import hashlib
import itertools
import sys
from typing import Any

DEEPEST = 4
"""Data sets inside of data sets."""
WIDEST = 32
"""Attributes of one data set."""
SAMPLES = 16
"""Entries of one list."""
LONG = 512
"""Characters of a text."""


def of(dataset: Any) -> str | None:
    """Equal for equal data; None where nothing can be said."""
    if dataset is None:
        return None
    seen: list[str] = []
    _look(dataset, seen, DEEPEST)
    return hashlib.sha256("\n".join(seen).encode("utf-8", "replace")).hexdigest()[:32]


def _look(thing: Any, seen: list[str], deep: int) -> None:
    """Write down what a value looks like."""
    kind = type(thing)
    if thing is None or kind in (bool, int, float, str):
        seen.append(_short(thing))
        return
    seen.append(kind.__qualname__)
    if deep <= 0:
        return
    if kind in (list, tuple, range):
        _look_at_list(thing, seen, deep)
    elif kind is dict:
        seen.append(str(len(thing)))
        for name, value in itertools.islice(thing.items(), WIDEST):
            seen.append(_short(name) if type(name) in (str, int) else "?")
            _look(value, seen, deep - 1)
    elif kind in _arrays():
        _look_at_array(thing, seen)
    elif not hasattr(kind, "shape"):
        _look_inside(thing, seen, deep)


def _short(thing: Any) -> str:
    """A text is cut before it is copied: it may be a whole corpus."""
    if type(thing) is str and len(thing) > LONG:
        return f"{thing[:LONG]!r} {len(thing)}"
    if type(thing) is int and thing.bit_length() > LONG:
        return f"{thing.bit_length()} bits"
    return repr(thing)


def _arrays() -> list[Any]:
    """The types of arrays that are known, and no type that is made of them."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    return [getattr(numpy, "ndarray", None), getattr(torch, "Tensor", None)]


def _is_near(thing: Any) -> bool:
    """Whether its elements are plain numbers or texts in this process's memory."""
    device: Any = getattr(thing, "device", None)
    if hasattr(device, "type"):
        plain = not thing.is_quantized and str(thing.layout) == "torch.strided"
        return bool(device.type == "cpu" and plain)
    return thing.dtype.kind in "biufcUS" and not _is_mapped(thing)


def _is_mapped(array: Any) -> bool:
    """Whether the array is a part of a file's map."""
    for _ in range(DEEPEST):
        array = getattr(array, "base", None)
        if type(array).__name__ in ("memmap", "mmap"):
            return True
    return False


def _look_at_list(thing: Any, seen: list[str], deep: int) -> None:
    seen.append(str(len(thing)))
    for place in _places(len(thing)):
        _look(thing[place], seen, deep - 1)


def _look_at_array(thing: Any, seen: list[str]) -> None:
    """A tensor or an array: its shape, and some of its elements where these are near."""
    seen.append(f"{tuple(thing.shape)} {thing.dtype}")
    if not len(thing.shape) or not _is_near(thing):
        return
    for place in _places(int(thing.shape[0])):
        element = thing[place]
        while len(getattr(element, "shape", ())):
            element = element[int(element.shape[0]) // 2]
        seen.append(repr(element.item()) if hasattr(element, "item") else repr(element)[:64])


def _look_inside(thing: Any, seen: list[str], deep: int) -> None:
    """Any other object: its own attributes, in the order of their names."""
    held = getattr(thing, "__dict__", None)
    if type(held) is not dict:
        return
    for name in sorted(map(str, held))[:WIDEST]:
        seen.append(name)
        _look(held.get(name), seen, deep - 1)


def _places(length: int) -> list[int]:
    """Some places all over a list, both ends among them."""
    if length <= SAMPLES:
        return list(range(length))
    return [place * (length - 1) // (SAMPLES - 1) for place in range(SAMPLES)]
