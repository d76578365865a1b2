"""How the data is divided among the ranks, seen from the loaders that the script goes through.

A script may have several loaders. Each is known by the line that starts it, so that one made
anew for each epoch stays the same; the report speaks of the one that matters most.
"""

from __future__ import annotations

import functools
from typing import Any, Callable

from _trainingjob import _division, _frames, _thread
from _trainingjob._guard import quiet
from _trainingjob._patch import before, cover
from _trainingjob._rhythm import BEAT, clock
from _trainingjob._standing import ME, SHARDED

LOADERS = 16
"""Loaders, by line, that are remembered."""
SAMPLERS = 256
SHARES = 2
"""The place of num_replicas among the arguments of DistributedSampler, which starts with self."""


class Loader:
    """What is known of the loader that one line starts."""

    def __init__(self) -> None:
        self.seen: dict[str, Any] = {}
        self.epochs = 0
        """Starts with a distributed sampler."""
        self.epoch_set = False
        """Whether one was told of its epoch, or has a way of its own that cannot be seen."""

    @property
    def divided(self) -> bool:
        """Whether each rank goes through a share of its own."""
        return bool(self.seen.get("sampler") == "distributed")

    def weight(self) -> tuple[bool, int]:
        """Which of several divided loaders is the one to train with."""
        return bool(self.seen.get("shuffle")), self.seen.get("samples") or 0


class Division:
    """What is known of the loaders of this process."""

    def __init__(self) -> None:
        self.loaders: dict[str, Loader] = {}
        self.set: set[int] = set()
        """Samplers whose epoch was set."""

    def of(self, line: str, loader: Any, look: Callable[[Any], dict[str, Any]]) -> Loader:
        """The loader that this line starts, kept once it is known."""
        known = self.loaders.get(line)
        if known is None:
            known = Loader()
            known.seen = look(loader)
            if len(self.loaders) < LOADERS:
                self.loaders[line] = known
        return known

    def divided(self) -> list[Loader]:
        """Those with a distributed sampler."""
        return [loader for loader in list(self.loaders.values()) if loader.divided]

    def told(self) -> dict[str, Any]:
        """This part of the report: the divided loader that matters most, else the first one."""
        first = list(self.loaders.values())[:1]
        for loader in sorted(self.divided(), key=Loader.weight)[-1:] or first:
            return {**loader.seen, "epochs": loader.epochs, "epochSet": loader.epoch_set}
        return {}


DATA = Division()


def watch_loaders(module: Any) -> None:
    """`torch.utils.data.DataLoader`: each start, and each batch."""
    cover(module.DataLoader, "__iter__", before(_started))
    cover(module._BaseDataLoaderIter, "__next__", _fetching)


def watch_samplers(module: Any) -> None:
    """`DistributedSampler`: made, told of its epoch, and iterated without a loader."""
    cover(module.DistributedSampler, "__init__", before(_made))
    cover(module.DistributedSampler, "set_epoch", before(_epoch))
    cover(module.DistributedSampler, "__iter__", before(_bare))


def _fetching(original: Any) -> Any:
    beat = BEAT

    @functools.wraps(original)
    def __next__(self: Any) -> Any:  # noqa: N807  (it is that method)
        if not beat.awake:
            return original(self)
        start = clock()
        try:
            return original(self)
        finally:
            beat.fetched(start, clock())

    return __next__


@quiet
def _made(*args: Any, **kwargs: Any) -> None:
    me = ME.now
    shares = kwargs.get("num_replicas", args[SHARES] if len(args) > SHARES else None)
    if shares == 1 and (me.world or 1) > 1:
        return
    if me.on and "sampler" not in me.lines:
        me.lines["sampler"] = _frames.owner() or ""
        _thread.stage(SHARDED)


@quiet
def _epoch(sampler: Any, *_args: Any, **_kwargs: Any) -> None:
    if ME.now.on and len(DATA.set) < SAMPLERS:
        DATA.set.add(id(sampler))


@quiet
def _bare(sampler: Any) -> None:
    if ME.now.on and not DATA.divided():
        _count(DATA.of("sampler", sampler, _division.of_sampler), [sampler])


@quiet
def _started(loader: Any, *_args: Any, **_kwargs: Any) -> None:
    if not ME.now.on:
        return
    line = _frames.owner() or ""
    ME.now.lines.setdefault("loader", line)
    known = DATA.of(line, loader, _division.of_loader)
    if known.divided:
        _count(known, _division.parts(loader))
        if SHARDED not in ME.now.reached:
            ME.now.lines.setdefault("sampler", line)
            _thread.stage(SHARDED)


def _count(loader: Loader, samplers: list[Any]) -> None:
    loader.epochs += 1
    loader.epoch_set = loader.epoch_set or any(
        id(part) in DATA.set or _division.sets_its_own_epoch(part) for part in samplers
    )
