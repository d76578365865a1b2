"""How the model is bound to those of the other ranks: a wrapper, or what is exchanged by hand.

A script without a wrapper may average its gradients itself. So the elements that pass through
the collectives between two steps are compared with the model's: as many is as good as a wrapper.
"""

from __future__ import annotations

import sys
from typing import Any, Callable

from trainingjob import _frames, _thread
from trainingjob._guard import quiet
from trainingjob._patch import before, cover
from trainingjob._rhythm import BEAT
from trainingjob._standing import ME, WRAPPED

STEPS = 8
"""After so many steps without a word between the ranks there is none."""
UNSEEN = ("horovod", "mpi4py")
"""What speaks to other ranks past torch's process groups."""
OPTIMIZERS = 64
"""Optimizers whose parameters are counted."""


class Traffic:
    """What has passed through the collectives since the first step."""

    def __init__(self) -> None:
        self.elements = 0
        """Since the last step."""
        self.most = 0
        """The most between two steps."""
        self.calls = 0
        self.before: int | None = None
        """The sequence number at the first step."""
        self.parameters: dict[int, int] = {}

    def passed(self, args: tuple[Any, ...], kwargs: dict[str, Any], counted: int) -> None:
        """A collective is over."""
        self.calls += counted
        try:
            self.elements += max(map(_elements, (*args[:2], *kwargs.values())), default=0) or 1
        except Exception:  # noqa: BLE001  (arguments of the user's, right or wrong)
            self.elements += 1


TRAFFIC = Traffic()


def _elements(value: Any) -> int:
    if isinstance(value, (list, tuple)):
        return sum(map(_elements, value))
    numel = getattr(value, "numel", None)
    return int(numel()) if numel is not None else 0


def stepped(optimizer: Any) -> None:
    """A step ends what was exchanged for it."""
    if TRAFFIC.elements:
        TRAFFIC.most = max(TRAFFIC.most, TRAFFIC.elements)
        TRAFFIC.elements = 0
    known = TRAFFIC.parameters
    if id(optimizer) not in known and len(known) < OPTIMIZERS:
        groups = optimizer.param_groups
        known[id(optimizer)] = sum(p.numel() for group in groups for p in group["params"])


def begins() -> None:
    """The first step is done: what was exchanged until then was set-up."""
    TRAFFIC.elements = TRAFFIC.most = TRAFFIC.calls = 0
    TRAFFIC.before = sequence()


def sequence() -> int | None:
    """Collectives that this process has begun, over all of its groups."""
    dist = sys.modules.get("torch.distributed.distributed_c10d")
    if dist is None or not dist.is_initialized():
        return None
    world = getattr(dist, "_world", None)
    groups = world.pg_map if world is not None else dist._pg_map
    return sum(int(group._get_sequence_number_for_group()) for group in list(groups))


@quiet
def told() -> dict[str, Any]:
    """This part of the report."""
    count = _quiet_sequence()
    total = sum(TRAFFIC.parameters.values())
    network = {"exchange": _exchange(total, count)}
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


def _exchange(parameters: int, count: int | None) -> Any:
    if ME.now.wrapper:
        return "wrapped"
    if parameters and 2 * TRAFFIC.most >= parameters:
        return "much"
    if BEAT.steps < STEPS or any(name in sys.modules for name in UNSEEN):
        return "unknown"
    if (count or 0) - (TRAFFIC.before or 0) > TRAFFIC.calls:
        return "unknown"
    return "little" if TRAFFIC.most or TRAFFIC.elements else "none"


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
