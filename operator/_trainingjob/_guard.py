"""Nothing of ours may ever harm the user's program: the one decorator that sees to it."""

from __future__ import annotations

import functools
import os
import sys
from typing import Any, Callable, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_BESIDE = os.path.dirname(os.path.dirname(HERE))
OURS = (
    HERE,
    os.path.join(_BESIDE, "trainingjob", ""),
    os.path.join(os.path.dirname(_BESIDE), "public", "trainingjob", ""),
)
"""Frames of files in here are ours: the public module lies beside the package, or in the pod's
own folder."""
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


def part(function: F) -> F:
    """The same for what the reporter's own thread tells: it is tried again for each report.

    What it reads is the user's, and may be half made at this moment and whole at the next.
    """

    @functools.wraps(function)
    def safe(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:  # noqa: BLE001  (no signal handler runs in this thread)
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
    handlers = map(signal.getsignal, signal.valid_signals())
    return {_code(handler) for handler in handlers if callable(handler)} - {None}


def _code(handler: Any) -> Any:
    """Of a function, a method, a partial function or an object that can be called."""
    for _ in range(4):
        inner = getattr(handler, "func", None) or getattr(handler, "__func__", None)
        if not callable(inner):
            break
        handler = inner
    called = type(handler).__call__
    return getattr(handler, "__code__", None) or getattr(called, "__code__", None)


def debug(words: str) -> None:
    """One line for those who look for a fault in the reporter itself."""
    if os.environ.get("TRAININGJOB_DEBUG") == "1":
        sys.stderr.write(f"trainingjob: {words}\n")
