"""Nothing of ours may ever harm the user's program: the one decorator that sees to it."""

from __future__ import annotations

import functools
import os
import sys
from typing import Any, Callable, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
"""Frames of files in here are ours."""
FAILURES = 3
"""A hook that fails so often is of no use: it switches itself off."""


def quiet(function: F) -> F:
    """The function, but its own errors are swallowed, and after a few it is not called again."""
    failures = 0

    @functools.wraps(function)
    def safe(*args: Any, **kwargs: Any) -> Any:
        nonlocal failures
        if failures >= FAILURES:
            return None
        try:
            return function(*args, **kwargs)
        except Exception as error:
            if came_from_outside(error):
                raise
            failures += 1
            debug(f"{function.__module__}.{function.__name__}: {error!r}")
            return None

    return cast("F", safe)


def came_from_outside(error: BaseException) -> bool:
    """Whether a signal handler of the user's raised it while ours happened to run."""
    handlers = _signal_handlers()
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code in handlers:
            return True
        trace = trace.tb_next
    return False


def _signal_handlers() -> set[Any]:
    signal = sys.modules.get("signal")
    if signal is None:
        return set()
    numbers = signal.valid_signals()
    handlers = (getattr(signal.getsignal(number), "__code__", None) for number in numbers)
    bound = (getattr(signal.getsignal(number), "__func__", None) for number in numbers)
    return {*handlers, *(getattr(function, "__code__", None) for function in bound)} - {None}


def debug(words: str) -> None:
    """One line for those who look for a fault in the reporter itself."""
    if os.environ.get("TRAININGJOB_DEBUG") == "1":
        sys.stderr.write(f"trainingjob: {words}\n")
