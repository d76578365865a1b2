"""How a function of a library is covered: seen by us, and for everybody else the same as ever.

Classes stay the classes that they are; only a method is covered, so `isinstance`, pickling,
subclassing and `inspect.signature` see no difference. What torch.compile traces passes through.
"""

from __future__ import annotations

import functools
import sys
from typing import Any, Callable

Before = Callable[..., None]


def cover(holder: Any, name: str, make: Callable[[Any], Any]) -> None:
    """Put a function's cover in its place, wherever the library itself has bound it."""
    original = vars(holder).get(name)
    if original is None or getattr(original, "__trainingjob__", False):
        return
    covered = make(original)
    covered.__trainingjob__ = True
    if isinstance(holder, type):
        setattr(holder, name, covered)
        return
    for module in _near(holder, original):
        if vars(module).get(name) is original:
            setattr(module, name, covered)


def _near(holder: Any, original: Any) -> list[Any]:
    """The modules of the same part of the library: those loaded by now may hold the function."""
    part = holder.__name__.rpartition(".")[0] or holder.__name__
    names = [name for name in list(sys.modules) if name == part or name.startswith(part + ".")]
    found = [sys.modules.get(name) for name in (*names, original.__module__)]
    return [module for module in found if hasattr(module, "__dict__")]


def compiles() -> Callable[[], bool]:
    """Torch's own word for it: torch.compile knows that it is true, and traces no cover.

    The one that is quickest to say no goes first: it is asked in each step.
    """
    compiler = getattr(sys.modules.get("torch"), "compiler", None)
    words = ("is_dynamo_compiling", "is_compiling")
    return next((getattr(compiler, word) for word in words if hasattr(compiler, word)), _never)


def _never() -> bool:
    return False


def before(call: Before) -> Callable[[Any], Any]:
    """A cover that is told of a call, with its arguments, before it is made."""

    def make(original: Any) -> Any:
        compiling = compiles()

        @functools.wraps(original)
        def covered(*args: Any, **kwargs: Any) -> Any:
            if not compiling():
                call(*args, **kwargs)
            return original(*args, **kwargs)

        return covered

    return make


def after(call: Before) -> Callable[[Any], Any]:
    """A cover that is told of a call that came back."""

    def make(original: Any) -> Any:
        compiling = compiles()

        @functools.wraps(original)
        def covered(*args: Any, **kwargs: Any) -> Any:
            if compiling():
                return original(*args, **kwargs)
            result = original(*args, **kwargs)
            call(*args, **kwargs)
            return result

        return covered

    return make
