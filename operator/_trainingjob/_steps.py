"""Optimizer steps and backward passes of torch: the beat, and the time between the two."""

from __future__ import annotations

import functools
from typing import Any

from _trainingjob import _checksum, _device, _frames, _network, _thread
from _trainingjob._guard import quiet
from _trainingjob._patch import after, before, compiles, cover
from _trainingjob._rhythm import BEAT, Rhythm, clock
from _trainingjob._standing import ME, STEPPING

LEARNING = 32
"""Steps through which the beginning of each is heard, for each kind of optimizer."""
KINDS = 64


class Nesting:
    """Whether optimizers step others, or as their parent does, inside of a step: that is one step.

    A hook before each step tells, and costs as much as the one after it. So it listens to the
    first steps of each kind of optimizer, and goes on only where there is something to hear.
    """

    def __init__(self) -> None:
        self.register: Any = None
        """Torch's way to a hook before each step."""
        self.handle: Any = None
        self.known: set[str] = set()
        self.begun = True
        """Whether a step has begun since the last one was counted."""
        self.found = False
        self.left = 0
        """Steps through which it still listens."""

    def is_new(self, optimizer: Any) -> bool:
        """Whether the step that is done is one of its own."""
        kind = f"{type(optimizer).__module__}.{type(optimizer).__qualname__}"
        if kind not in self.known and len(self.known) < KINDS:
            self.known.add(kind)
            self.listen()
        if not self.listens():
            return True
        begun, self.begun = self.begun, False
        self.found = self.found or not begun
        self.left -= self.left > 0
        if not self.listens() and self.handle is not None:
            self.handle.remove()
            self.handle = None
        return begun

    def listens(self) -> bool:
        """Whether the beginning of each step is heard."""
        return self.found or self.left > 0

    def listen(self) -> None:
        """Hear of the beginning of each step for a while."""
        self.left, self.begun = LEARNING, True
        if self.handle is None and self.register is not None:
            self.handle = self.register(_begins)


NESTING = Nesting()


def watch_optimizers(module: Any) -> None:
    """Torch's own hook for every optimizer; before torch 2.0, a cover of what wraps all steps."""
    register = getattr(module, "register_optimizer_step_post_hook", None)
    if register is not None:
        NESTING.register = module.register_optimizer_step_pre_hook
        NESTING.listen()
        register(stepped)
    else:
        NESTING.found = True
        cover(module.Optimizer, "__init__", after(_made))


@quiet
def _made(optimizer: Any, *_args: Any, **_kwargs: Any) -> None:
    step = after(lambda self, *args, **kwargs: stepped(self, args, kwargs))
    cover(type(optimizer), "step", lambda original: step(before(_begins)(original)))


def _begins(*_args: Any, **_kwargs: Any) -> None:
    NESTING.begun = True


def stepped(optimizer: Any, _args: Any, _kwargs: Any, beat: Rhythm = BEAT) -> None:
    """A step is done. Most of the quick ones are only counted: this is what each of them costs."""
    left = beat.left
    if left:
        beat.left = left - 1
        beat.steps += 1
    else:
        _look(optimizer)


@quiet
def _look(optimizer: Any) -> None:
    me, now = ME.now, clock()
    if not me.on:
        return
    BEAT.sign(now)
    if not NESTING.is_new(optimizer):
        return
    BEAT.step(now)
    _network.stepped(optimizer)
    if STEPPING not in me.reached:
        _first(optimizer)
    if _checksum.EVERY:
        if BEAT.steps % _checksum.EVERY == 0:
            me.checksum = _checksum.of(optimizer, BEAT.steps)
    elif not NESTING.listens():
        BEAT.rest(now)


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
        if compiling() or not beat.awake:
            return original(*args, **kwargs)
        beat.backward(clock())
        try:
            return original(*args, **kwargs)
        finally:
            beat.came_back(clock())

    return backward
