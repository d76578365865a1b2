"""The beginning, once in a process: its hooks, its thread, and what a fork makes of both."""

from __future__ import annotations

import json
import linecache
import os
import sys
import warnings
from typing import Any

from trainingjob import _ends, _finder, _identity, _thread
from trainingjob._guard import quiet
from trainingjob._rhythm import BEAT, TALE
from trainingjob._standing import ME, Standing


def begin() -> None:
    """Hook the frameworks and start to report; again is nothing."""
    if ME.begun:
        return
    ME.begun = True
    url = os.environ.get("TRAININGJOB_REPORT_URL")
    if not url:
        return
    from trainingjob import _hooks

    _prepare()
    os.register_at_fork(after_in_child=_forked)
    _hooks.install(_finder.FINDER)
    _start(url)
    _ends.install()


def _prepare() -> None:
    """Have done by now, in the user's thread, what would import a module in ours."""
    linecache.getline(__file__, 1)
    json.dumps({"": [0.5, "…"]}, ensure_ascii=False)
    if sys.version_info >= (3, 12):
        # Python warns of forks in a program with threads; this thread of ours is made for them
        message = r"This process \(pid=\d+\) is multi-threaded"
        warnings.filterwarnings("ignore", message, DeprecationWarning)


def _start(url: str) -> None:
    _identity.learn()
    ME.now.on = True
    _thread.LINE.reporter = _thread.Reporter(url)


def _forked() -> None:
    """A child has no thread of ours, and says nothing: it may be a data loader's worker."""
    ME.now.on = False
    ME.forked = True
    _thread.LINE.reporter = None


@quiet
def reborn(_: Any = None) -> None:
    """A forked child joins a process group: so it is a rank after all."""
    if not ME.forked:
        return
    ME.forked = False
    ME.now = Standing()
    for rhythm in (BEAT, TALE):
        rhythm.__init__()  # type: ignore[misc]
    _start(os.environ.get("TRAININGJOB_REPORT_URL", ""))
    ME.now.rank = None
    _ends.watch_child()
