"""The process group: who asks for it, who is in it, who leaves it, and what passes through it."""

from __future__ import annotations

import functools
import sys
from typing import Any

from _trainingjob import _begin, _frames, _network, _thread
from _trainingjob._guard import quiet
from _trainingjob._patch import after, before, compiles, cover
from _trainingjob._rhythm import BEAT, clock
from _trainingjob._standing import ME

COLLECTIVES = (
    "all_reduce", "all_reduce_coalesced", "all_gather", "all_gather_coalesced",
    "all_gather_into_tensor", "all_gather_single", "all_to_all", "all_to_all_single", "barrier",
    "broadcast", "gather", "gather_into_tensor", "gather_single", "reduce", "reduce_scatter",
    "reduce_scatter_single", "reduce_scatter_tensor", "scatter",
)  # fmt: skip
BETWEEN_TWO = ("send", "recv", "isend", "irecv")
"""Not counted by a process group's sequence number."""


def watch(module: Any) -> None:
    """`torch.distributed`, whole."""
    cover(module, "init_process_group", _around(_joining, _joined))
    cover(module, "destroy_process_group", before(_leaving))
    for name in COLLECTIVES:
        cover(module, name, functools.partial(_collective, counted=1))
    for name in BETWEEN_TWO:
        cover(module, name, functools.partial(_collective, counted=0))


def _around(first: Any, last: Any) -> Any:
    return lambda original: after(last)(before(first)(original))


@quiet
def _joining(*_args: Any, **_kwargs: Any) -> None:
    _begin.reborn()
    me = ME.now
    if not me.on:
        return
    me.lines["init"] = _frames.owner() or ""
    if me.join():
        _thread.changed()
    BEAT.sign(clock())


@quiet
def _joined(*_args: Any, **_kwargs: Any) -> None:
    me = ME.now
    if me.on and me.joined():
        BEAT.sign(clock())
        _thread.changed()


@quiet
def _leaving(group: Any = None, *_args: Any, **_kwargs: Any) -> None:
    me = ME.now
    world = getattr(getattr(sys.modules.get("torch.distributed"), "group", None), "WORLD", None)
    if not (me.on and me.grouped) or (group is not None and group is not world):
        return
    me.lines["destroy"] = _frames.owner() or ""
    if me.leave():
        _thread.changed()


def _collective(original: Any, counted: int) -> Any:
    beat, traffic, compiling = BEAT, _network.TRAFFIC, compiles()

    @functools.wraps(original)
    def collective(*args: Any, **kwargs: Any) -> Any:
        if compiling():
            return original(*args, **kwargs)
        start = clock()
        try:
            return original(*args, **kwargs)
        finally:
            beat.exchanged(start, clock())
            traffic.passed(args, kwargs, counted)

    return collective


@quiet
def _jax(module: Any) -> None:
    cover(module, "initialize", _around(_joining, _joined))
    cover(module, "shutdown", before(_leaving))


@quiet
def watch_rpc(module: Any) -> None:
    """`torch.distributed.rpc`: a group as well; who shuts it down serves the others till then."""
    if hasattr(module, "init_rpc"):
        cover(module, "init_rpc", _around(_joining, _joined))
        cover(module, "shutdown", after(_shut_down))


@quiet
def _shut_down(*_args: Any, **_kwargs: Any) -> None:
    _leaving()


@quiet
def watch_spawn(module: Any) -> None:
    """`torch.multiprocessing.spawn`: who calls it starts ranks."""
    cover(module, "start_processes", before(_spawning))


@quiet
def _spawning(*_args: Any, **_kwargs: Any) -> None:
    ME.now.launcher = True


OTHERS = (("jax._src.distributed", _jax), ("jax.distributed", _jax))
"""Frameworks whose group is worth a stage; their modules are hooked when they come. What users
call may be bound, by then, from the module that defines it."""
