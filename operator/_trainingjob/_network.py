"""How the model is bound to those of the other ranks: a wrapper, or what is exchanged by hand.

A script without a wrapper may average its gradients itself. So the elements that pass through
the collectives between two steps are compared with the model's: as many is as good as a wrapper.
"""

from __future__ import annotations

import sys
from collections import deque
from typing import Any, Callable

from _trainingjob import _frames, _thread
from _trainingjob._guard import came_from_outside, part, quiet
from _trainingjob._patch import before, cover
from _trainingjob._rhythm import BEAT
from _trainingjob._standing import ME, WRAPPED

STEPS = 8
"""After so many steps without a word between the ranks there is none."""
UNSEEN = ("horovod", "mpi4py")
"""What speaks to other ranks past torch's process groups."""
OPTIMIZERS = 64
"""Steps whose optimizers are remembered."""
MANY = 32
"""Tensors of a list that are looked at."""


class Traffic:
    """What has passed through the collectives since the first step."""

    def __init__(self) -> None:
        self.elements = 0
        """Since the last step."""
        self.most = 0
        """The most between two steps."""
        self.much = False
        """Whether as much as the model of the optimizer that stepped next was exchanged."""
        self.calls = 0
        self.before: int | None = None
        """The sequence number at the first step."""
        self.recent: deque[tuple[int, int]] = deque(maxlen=OPTIMIZERS)
        """The optimizer of each step lately, and its parameters."""

    def passed(self, args: tuple[Any, ...], kwargs: dict[str, Any], counted: int) -> None:
        """A collective is over."""
        self.calls += counted
        try:
            self.elements += max(map(_elements, (*args[:2], *kwargs.values())), default=0) or 1
        except Exception as error:
            if came_from_outside(error):
                raise
            self.elements += 1  # arguments of the user's, right or wrong


TRAFFIC = Traffic()


def _elements(value: Any) -> int:
    if isinstance(value, (list, tuple)):
        first = [_elements(part) for part in value[:MANY]]
        return sum(first) if len(value) <= MANY else len(value) * max(first)
    numel = getattr(value, "numel", None)
    count = numel() if numel is not None else 0
    # a size that is still open stays so: as a number it would be one for all
    return count if type(count) is int else 0


def stepped(optimizer: Any) -> None:
    """A step ends what was exchanged for it."""
    parameters = _parameters(optimizer)
    TRAFFIC.recent.append((id(optimizer), parameters))
    if TRAFFIC.elements:
        TRAFFIC.much = TRAFFIC.much or 2 * TRAFFIC.elements >= parameters
        TRAFFIC.most = max(TRAFFIC.most, TRAFFIC.elements)
        TRAFFIC.elements = 0


def _parameters(optimizer: Any) -> int:
    """Counted anew only for another optimizer than the last, and where one may have come."""
    groups = optimizer.param_groups
    key = (id(optimizer), sum(len(group["params"]) for group in groups))
    if Counted.key != key:
        Counted.key = key
        Counted.number = sum(p.numel() for group in groups for p in group["params"])
    return Counted.number


class Counted:
    """The parameters of the optimizer that stepped last."""

    key = (0, 0)
    number = 0


def begins() -> None:
    """The first step is done: what was exchanged until then was set-up."""
    TRAFFIC.elements = TRAFFIC.most = TRAFFIC.calls = 0
    TRAFFIC.much = False
    TRAFFIC.before = sequence()


def sequence() -> int | None:
    """Collectives that this process has begun, over all of its groups."""
    dist = sys.modules.get("torch.distributed.distributed_c10d")
    if dist is None or not dist.is_initialized():
        return None
    world = getattr(dist, "_world", None)
    groups = world.pg_map if world is not None else dist._pg_map
    return sum(int(group._get_sequence_number_for_group()) for group in list(groups))


@part
def told() -> dict[str, Any]:
    """This part of the report."""
    count = _quiet_sequence()
    optimizers = dict(list(TRAFFIC.recent))
    total = sum(optimizers.values())
    network = {"exchange": _exchange(len(optimizers), count)}
    if ME.now.wrapper:
        network["wrapper"] = ME.now.wrapper
    if total:
        network["parameters"] = total
    return {"sequence": count, "model": network}


def _quiet_sequence() -> int | None:
    try:
        return sequence()
    except Exception:  # noqa: BLE001  (a group that is being made, or unmade, right now)
        return None


def _exchange(optimizers: int, count: int | None) -> Any:
    if ME.now.wrapper:
        return "wrapped"
    if TRAFFIC.much:
        return "much"
    if BEAT.steps < STEPS or any(name in sys.modules for name in UNSEEN):
        return "unknown"
    if (count or 0) - (TRAFFIC.before or 0) > TRAFFIC.calls:
        return "unknown"
    if not (TRAFFIC.most or TRAFFIC.elements):
        return "none"
    # what was exchanged for which of several models cannot be told
    return "little" if optimizers == 1 else "unknown"


def _wraps(name: str, label: str = "") -> Callable[[Any], None]:
    """Cover a class's constructor, or a function, that binds the ranks' models together."""
    seen = quiet(lambda *_args, **_kwargs: _wrapped(label or name))

    def hook(module: Any) -> None:
        thing = getattr(module, name, None)
        if isinstance(thing, type):
            cover(thing, "__init__", before(seen))
        elif thing is not None:
            cover(module, name, before(seen))

    return hook


def _wrapped(label: str) -> None:
    me = ME.now
    if not me.on or me.wrapper == label or (me.wrapper and label == ZERO):
        return
    me.wrapper = label
    me.lines["wrap"] = _frames.owner() or ""
    _thread.stage(WRAPPED)


DDP, ZERO = "DistributedDataParallel", "ZeroRedundancyOptimizer"
WRAPPERS = (
    ("torch.nn.parallel.distributed", _wraps(DDP)),
    ("torch.distributed._composable.replicate", _wraps("replicate")),
    ("torch.distributed._composable.replicate_with_fsdp", _wraps("replicate")),
    ("torch.distributed._composable.fsdp.fully_shard", _wraps("fully_shard")),
    ("torch.distributed.fsdp._fully_shard._fully_shard", _wraps("fully_shard")),
    ("torch.distributed.fsdp.fully_sharded_data_parallel", _wraps("FullyShardedDataParallel")),
    ("torch.distributed.optim.zero_redundancy_optimizer", _wraps(ZERO)),
    ("torch.distributed.pipelining.stage", _wraps("_PipelineStageBase", "PipelineStage")),
    ("torch.distributed.tensor._api", _wraps("distribute_module")),
    ("torch.distributed.tensor.parallel.api", _wraps("parallelize_module")),
    ("apex.parallel.distributed", _wraps(DDP)),
    ("deepspeed.runtime.engine", _wraps("DeepSpeedEngine")),
    ("horovod.torch.optimizer", _wraps("DistributedOptimizer")),
    ("megatron.core.distributed.distributed_data_parallel", _wraps(DDP)),
)
"""Who binds models together, by the module that defines it."""
