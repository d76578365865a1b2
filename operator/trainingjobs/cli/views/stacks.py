"""Where ranks stand, in one line for all that stand together."""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime

from trainingjobs.cli.views import text
from trainingjobs.client.job import Manifest
from trainingjobs.model import ranks
from trainingjobs.model.times import parse_time

_INNERMOST = 3
"""Frames that are shown where none is the script's own."""
_OLD = 15.0
"""Seconds after which it is said how old a report is."""


def chosen(found: Manifest, only: Collection[int]) -> Manifest:
    """The same of these ranks alone."""
    kept = [
        {**stack, "ranks": ranks.compact(mine)}
        for stack in found.get("stacks") or []
        if (mine := ranks.expand(stack["ranks"]) & frozenset(only))
    ]
    unheard = ranks.expand(found.get("unheard") or "") & frozenset(only)
    return {**found, "stacks": kept, "unheard": ranks.compact(unheard)}


def lines(found: Manifest, now: datetime, *, full: bool = False) -> Iterator[str]:
    """A line for each place; in full, one for each frame as well.

    Args:
        found: what the operator says.
        now: for the age of what is old.
        full: all frames, the innermost first.
    """
    for stack in found.get("stacks") or []:
        frames = stack.get("frames") or []
        head = f"{_several(stack['ranks'])} ({', '.join(_state(stack, now))})"
        if full:
            yield f"{head}:"
            yield from (f"  {_place(frame)}" for frame in frames)
        else:
            yield f"{head}: {' > '.join(map(_place, _shown(frames))) or 'no stack'}"
    if found.get("unheard"):
        yield f"{_several(found['unheard'])}: nothing was heard of {_them(found['unheard'])} yet"
    if found.get("more"):
        yield f"{found['more']} more ranks, each at another place: choose some with --rank"


def _several(numbers: str) -> str:
    return f"rank{'' if numbers.isdecimal() else 's'} {numbers.replace(',', ', ')}"


def _them(numbers: str) -> str:
    return "it" if numbers.isdecimal() else "them"


def _state(stack: Manifest, now: datetime) -> Iterator[str]:
    yield str(stack.get("waitsIn") or stack.get("stage"))
    steps = str(stack.get("steps") or "0")
    yield f"step{'' if steps.isdecimal() else 's'} {steps.replace(',', ', ')}"
    if stack.get("silent"):
        yield "silent"
    heard = parse_time(stack.get("heard"))
    if heard is not None and (now - heard).total_seconds() > _OLD:
        yield f"{text.since(heard, now)} ago"


def _shown(frames: Sequence[Manifest]) -> Sequence[Manifest]:
    """The script's own frames, the outermost first."""
    own = [frame for frame in frames if frame.get("user")] or frames[:_INNERMOST]
    return own[::-1]


def _place(frame: Manifest) -> str:
    return f"{frame.get('file')}:{frame.get('line')} {frame.get('function')}"
