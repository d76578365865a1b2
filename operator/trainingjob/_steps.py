"""Optimizer steps and backward passes of torch: the beat, and the time between the two."""

from __future__ import annotations

import functools
from typing import Any

from trainingjob import _checksum, _device, _frames, _network, _thread
from trainingjob._guard import quiet
from trainingjob._patch import after, cover
from trainingjob._rhythm import BEAT, clock
from trainingjob._standing import ME, STEPPING


class Seen:
    """The optimizer that stepped last, and after which backward pass."""

    optimizer: Any = None
    backwards = -1


def watch_optimizers(module: Any) -> None:
    """Torch's own hook for every optimizer; before torch 2.0, a cover of what wraps all steps."""
    register = getattr(module, "register_optimizer_step_post_hook", None)
    if register is not None:
        register(stepped)
    else:
        cover(module.Optimizer, "__init__", after(_made))


@quiet
def _made(optimizer: Any, *_args: Any, **_kwargs: Any) -> None:
    cover(type(optimizer), "step", after(lambda self, *args, **kwargs: stepped(self, args, kwargs)))


@quiet
def stepped(optimizer: Any, _args: Any, _kwargs: Any) -> None:
    """A step is done. One that calls its parent's step is one, not two."""
    me = ME.now
    if not me.on:
        return
    backwards = BEAT.backwards
    if Seen.optimizer == id(optimizer) and Seen.backwards == backwards and backwards:
        return
    Seen.optimizer, Seen.backwards = id(optimizer), backwards
    BEAT.step(clock())
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
    """`torch.autograd.backward`, which every tensor's backward calls."""
    cover(module, "backward", _backward)


def _backward(original: Any) -> Any:
    beat = BEAT

    @functools.wraps(original)
    def backward(*args: Any, **kwargs: Any) -> Any:
        beat.backward(clock())
        try:
            return original(*args, **kwargs)
        finally:
            beat.came_back(clock())

    return backward
