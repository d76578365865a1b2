"""How a process ends: by an exception that nobody caught, or in order. Both are said at once.

The interpreter's own hooks are chained, never replaced. Children of multiprocessing know
neither: the library catches their exceptions, prints them, and calls its finalizers (before
Python 3.13, while the exception is still on its way).
"""

from __future__ import annotations

import atexit
import sys
import traceback
from typing import Any

from _trainingjob import _frames, _thread
from _trainingjob._guard import OURS, quiet
from _trainingjob._patch import before, cover
from _trainingjob._standing import ENDED, ME

LAST_WORDS = 1.0
"""Seconds that a process which has failed waits for its report to be taken."""
FAREWELL = 0.5
"""Seconds that any process waits for that at its end."""
UNHEARD = 0.1
"""The same, where nobody has answered lately."""
CATCHERS = ("multiprocessing/process.py", "torch/multiprocessing/spawn.py")
"""Who catches whatever ends a child."""


class Hook:
    """In place of sys.excepthook: what was there is called, then the operator hears of it."""

    def __init__(self, previous: Any) -> None:
        self.previous = previous

    def __call__(self, kind: Any, value: Any, trace: Any) -> None:
        """Note it first, for the hook that was there before may end the process."""
        note(value, trace)
        _without_ours(value)
        self.previous(kind, value, trace)
        _flush(LAST_WORDS)


def install() -> None:
    """Watch this process's end; once in a process."""
    if not hasattr(sys, "ps1"):
        sys.excepthook = Hook(sys.excepthook)
    atexit.register(over)
    watch_child()


@quiet
def watch_child() -> None:
    """In a child of multiprocessing: the library's own end, where an exception is still known.

    A child forgets the finalizers that it had before its work begins; then it calls those who
    asked to be called after a fork, even where it was not forked.
    """
    util = sys.modules.get("multiprocessing.util")
    if util is not None:
        _finalize()
        util.register_after_fork(ME, _finalize)
        cover(traceback, "print_exc", before(_printed))
        cover(traceback, "format_exc", before(_printed))


def _finalize(_: Any = None) -> None:
    sys.modules["multiprocessing.util"].Finalize(None, _child_over, exitpriority=-1000)


@quiet
def _printed(*_args: Any, **_kwargs: Any) -> None:
    """A library writes down the exception that has ended its child."""
    callers = (frame.f_code for frame in _frames.walk(sys._getframe(1)))
    caller = next((code for code in callers if not code.co_filename.startswith(OURS)), None)
    value = sys.exc_info()[1]
    if value is not None and caller is not None and caller.co_filename.endswith(CATCHERS):
        note(value, value.__traceback__)


@quiet
def _child_over() -> None:
    value = sys.exc_info()[1]
    if value is not None and not isinstance(value, SystemExit):
        note(value, value.__traceback__)
    over()


@quiet
def over() -> None:
    """The interpreter is on its way out."""
    me, reporter = ME.now, _thread.LINE.reporter
    if not me.on or reporter is None or me.stage == ENDED:
        return
    uncaught = getattr(sys, "last_value", None)
    if me.error is None and uncaught is not None and _ended_the_program(uncaught):
        note(uncaught, uncaught.__traceback__)
    me.reach(ENDED)
    if reporter.is_worth_a_word():
        _flush(UNHEARD if reporter.failures else FAREWELL)


def _ended_the_program(value: BaseException) -> bool:
    """Whether it went through the program's first frame; consoles and pytest keep others there."""
    trace = value.__traceback__
    return not hasattr(sys, "ps1") and trace is not None and trace.tb_frame.f_back is None


@quiet
def note(value: BaseException, trace: Any) -> None:
    """Keep what the operator should know of an exception, and have it sent."""
    if not ME.now.on or (ME.now.helper and not ME.now.grouped):
        return
    ME.now.error = {
        "type": type(value).__name__[:128],
        "message": _message(value),
        "frame": _frame(trace),
    }
    if _thread.LINE.reporter is not None:
        _thread.LINE.reporter.calls.put("soon")


def _message(value: BaseException) -> str:
    try:
        return str(value)[:1024]
    except Exception:  # noqa: BLE001  (an exception of the user's that cannot be written)
        return ""


def _frame(trace: Any) -> dict[str, Any] | None:
    """The innermost frame of the user's."""
    found = None
    while trace is not None:
        file, _, function, module = _frames.kept(trace.tb_frame)
        if _frames.is_user(file, module):
            found = _frames.told((file, trace.tb_lineno or 0, function, module))
        trace = trace.tb_next
    return found


@quiet
def _without_ours(value: BaseException | None) -> None:
    """Take our wrappers out of the traceback: users see their program, as without us."""
    for _ in range(20):
        if value is None:
            return
        trace = value.__traceback__
        while trace is not None:
            after = trace.tb_next
            while after is not None and after.tb_frame.f_code.co_filename.startswith(OURS):
                after = after.tb_next
            trace.tb_next = after
            trace = after
        value = value.__cause__ or value.__context__


@quiet
def _flush(seconds: float) -> None:
    if ME.now.on and _thread.LINE.reporter is not None:
        _thread.LINE.reporter.flush(seconds)
