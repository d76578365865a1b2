"""Whether a loader gives each rank a share of its own, whoever's sampler it is.

Torch has one sampler for it, and libraries have theirs: subclasses, wrappers, and classes of
their own that know how many processes there are and which one this is.
"""

from __future__ import annotations

import sys
from typing import Any

from _trainingjob import _fingerprint
from _trainingjob._guard import came_from_outside, debug
from _trainingjob._standing import ME

SHARES = (
    ("num_replicas", "rank"),
    ("num_processes", "process_index"),
    ("num_shards", "shard_index"),
    ("world_size", "rank"),
)
"""How classes call the number of shares and the one that is theirs."""
INNER = ("sampler", "batch_sampler", "_sampler")
"""Where a sampler keeps the one that it is built around."""
DEFAULTS = ("SequentialSampler", "RandomSampler", "BatchSampler", "DistributedSampler")
"""Torch's own. The last one divides nothing where it has one share alone."""
DISPATCHERS = ("DataLoaderDispatcher",)
"""Loaders of which one process reads for all."""
DEEPEST = 8
ITERABLE = 1
"""As torch numbers the kinds of data sets."""


def parts(loader: Any) -> list[Any]:
    """The samplers of a loader, and those inside of them."""
    found: list[Any] = []
    ahead = [loader]
    while ahead and len(found) < DEEPEST:
        held = _held(ahead.pop())
        inner = [held[name] for name in INNER if held.get(name) is not None]
        fresh = [part for part in inner if not any(part is known for known in found)]
        found += fresh
        ahead += fresh
    return found


def of_loader(loader: Any) -> dict[str, Any]:
    """What the report says of a loader."""
    samplers = parts(loader)
    kind = _kind(loader, samplers)
    sharing = next((part for part in samplers if _shares(part)), None)
    return {
        "sampler": kind,
        "samples": _samples(loader, sharing) if kind != "iterable" else None,
        "fingerprint": _fingerprint_of(loader),
        "shuffle": _held(sharing).get("shuffle") is True,
    }


def of_sampler(sampler: Any) -> dict[str, Any]:
    """The same of a sampler that is used without a loader."""
    return {
        "sampler": "distributed" if _shares(sampler) > 1 else _of_whole([sampler]),
        "samples": _length(sampler),
        "fingerprint": _fingerprint_of(sampler),
        "shuffle": _held(sampler).get("shuffle") is True,
    }


def _fingerprint_of(holder: Any) -> str | None:
    """None of data that cannot be looked at: the rest is worth saying all the same."""
    try:
        return _fingerprint.of(_held(holder).get("dataset"))
    except Exception as error:
        if came_from_outside(error):
            raise
        debug(f"no fingerprint: {error!r}")
        return None


def sets_its_own_epoch(sampler: Any) -> bool:
    """A sampler that divides and has not torch's set_epoch: whether it is called is unseen."""
    torchs = getattr(sys.modules.get("torch.utils.data.distributed"), "DistributedSampler", None)
    own = getattr(type(sampler), "set_epoch", None)
    return bool(_shares(sampler)) and own is not getattr(torchs, "set_epoch", None)


def _held(thing: Any) -> dict[str, Any]:
    """An object's own attributes, without running a property of the user's."""
    return getattr(thing, "__dict__", None) or {}


def _kind(loader: Any, samplers: list[Any]) -> str:
    dataset = _held(loader).get("dataset")
    if max(map(_shares, (*samplers, dataset))) > 1 or type(loader).__name__ in DISPATCHERS:
        return "distributed"
    if _held(loader).get("_dataset_kind") == ITERABLE:
        return "iterable"
    if _shares(dataset) and (ME.now.world or 1) > 1:
        return "custom"
    return _of_whole(samplers)


def _of_whole(samplers: list[Any]) -> str:
    """What goes through all of its data: as torch does it, or in a way of its own."""
    torchs = all(
        type(part).__name__ in DEFAULTS and type(part).__module__.startswith("torch.")
        for part in samplers
    )
    return "default" if torchs else "custom"


def _shares(thing: Any) -> int:
    """Among how many it divides; 0 for what does not divide."""
    held = _held(thing)
    for count, own in SHARES:
        if isinstance(held.get(count), int) and isinstance(held.get(own), int):
            return int(held[count])
    inner = held.get("_distributed")  # datasets.distributed.split_dataset_by_node
    return _shares(inner) if inner is not None and inner is not thing else 0


def _samples(loader: Any, sharing: Any) -> int | None:
    held = _held(loader)
    batches = held.get("batch_sampler")
    if batches is None or type(batches).__name__ == "BatchSampler":
        return _length(held.get("sampler"))
    size = _held(batches).get("batch_size") or held.get("batch_size") or 1
    length = _length(batches if sharing is None or sharing is batches else sharing)
    return length * size if length is not None and isinstance(size, int) else length


def _length(thing: Any) -> int | None:
    """The length of a sampler; a class of the user's is not asked: it may draw its batches then."""
    known = _held(thing).get("num_samples")
    if type(known) is int:
        return max(0, known)
    if not type(thing).__module__.startswith(("torch.", "accelerate.")):
        return None
    try:
        return max(0, len(thing))
    except Exception as error:
        if came_from_outside(error):
            raise
        return None
