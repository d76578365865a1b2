"""Optimizer steps and backward passes of torch: the beat, and the time between the two."""

from __future__ import annotations

import functools
from typing import Any

from _trainingjob import _checksum, _device, _frames, _network, _thread
from _trainingjob._guard import quiet
from _trainingjob._patch import after, before, compiles, cover
from _trainingjob._rhythm import BEAT, clock
from _trainingjob._standing import ME, STEPPING


class Steps:
    """Whether a step has begun since the last one was counted."""

    begun = True


def watch_optimizers(module: Any) -> None:
    """Torch's own hook for every optimizer; before torch 2.0, a cover of what wraps all steps."""
    register = getattr(module, "register_optimizer_step_post_hook", None)
    if register is not None:
        module.register_optimizer_step_pre_hook(_begins)
        register(stepped)
    else:
        cover(module.Optimizer, "__init__", after(_made))


@quiet
def _made(optimizer: Any, *_args: Any, **_kwargs: Any) -> None:
    step = after(lambda self, *args, **kwargs: stepped(self, args, kwargs))
    cover(type(optimizer), "step", lambda original: step(before(_begins)(original)))


def _begins(*_args: Any, **_kwargs: Any) -> None:
    Steps.begun = True


@quiet
def stepped(optimizer: Any, _args: Any, _kwargs: Any) -> None:
    """A step is done. One that calls another, of its parent or of what it wraps, is no second."""
    me, now = ME.now, clock()
    if not me.on:
        return
    BEAT.sign(now)
    if not Steps.begun:
        return
    Steps.begun = False
    BEAT.step(now)
    _network.stepped(optimizer)
    if STEPPING not in me.reached:
        _first(optimizer)
    if _checksum.EVERY and BEAT.steps % _checksum.EVERY == 0:
        me.checksum = _checksum.of(optimizer, BEAT.steps)


@quiet
def _first(optimizer: Any) -> None:
    ME.now.lines["step"] = _frames.owner() or ""
    ME.now.device = _device.of(optimizer)
    _network.begins()
    _thread.stage(STEPPING)


def watch_backward(module: Any) -> None:
    """`torch.autograd.backward`, which every tensor's backward calls, and what stands for it."""
    cover(module, "backward", _backward)
    cover(module, "grad", _backward)


def watch_graphs(module: Any) -> None:
    """CUDA graphs: a recorded step is replayed, and no optimizer is seen to step."""
    cover(module.CUDAGraph, "replay", after(_replayed))


def _replayed(*_args: Any, **_kwargs: Any) -> None:
    BEAT.sign(clock())


def _backward(original: Any) -> Any:
    beat, compiling = BEAT, compiles()

    @functools.wraps(original)
    def backward(*args: Any, **kwargs: Any) -> Any:
        if compiling():
            return original(*args, **kwargs)
        beat.backward(clock())
        try:
            return original(*args, **kwargs)
        finally:
            beat.came_back(clock())

    return backward
