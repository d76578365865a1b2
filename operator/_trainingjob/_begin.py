"""The beginning, once in a process: its hooks, its thread, and what a fork makes of both."""

from __future__ import annotations

import json
import linecache
import os
import sys
import warnings
from typing import Any

from _trainingjob import _ends, _finder, _identity, _thread
from _trainingjob._data import DATA
from _trainingjob._guard import quiet
from _trainingjob._network import TRAFFIC
from _trainingjob._rhythm import BEAT, TALE
from _trainingjob._standing import ME, Standing


def begin() -> None:
    """Hook the frameworks and start to report; again is nothing."""
    if ME.begun:
        return
    ME.begun = True
    url = os.environ.get("TRAININGJOB_REPORT_URL")
    if not url:
        return
    from _trainingjob import _hooks

    _prepare()
    os.register_at_fork(after_in_child=_forked)
    _hooks.install(_finder.FINDER)
    _ends.install()
    if _identity.is_tool():
        ME.silent = True
    else:
        _start(url)


def _prepare() -> None:
    """Have done by now, in the user's thread, what would import a module in ours."""
    linecache.getline(__file__, 1)
    json.dumps({"": [0.5, "…"]}, ensure_ascii=False)
    if sys.version_info >= (3, 12):
        # Python warns of forks in a program with threads; this thread of ours is made for them.
        # It cannot be narrower: the words name no thread, and a filter that stands behind the
        # user's own would let `-W error` end a program for a thread that is not its own
        message = r"This process \(pid=\d+\) is multi-threaded"
        warnings.filterwarnings("ignore", message, DeprecationWarning)


def _start(url: str) -> None:
    _identity.learn()
    _thread.LINE.reporter = _thread.Reporter(url)
    ME.now.on = True


def _forked() -> None:
    """A child has no thread of ours, and says nothing: it may be a data loader's worker."""
    ME.now.on = False
    ME.silent = True
    _thread.LINE.reporter = None


@quiet
def reborn(_: Any = None) -> None:
    """A silent process joins a group: so it is a rank after all."""
    if not ME.silent:
        return
    ME.silent = False
    ME.now = Standing()
    for part in (BEAT, TALE, DATA, TRAFFIC):
        part.__init__()  # type: ignore[misc]
    _start(os.environ.get("TRAININGJOB_REPORT_URL", ""))
    _ends.watch_child()
