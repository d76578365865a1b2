"""What this process knows of itself: how far it has come, and which lines brought it there.

A stage is never taken back, with one exception: a process that asks for a process group (the
first one, or a new one after it has destroyed the last) begins anew at `joining`. Data that is
divided or a model that is wrapped before the group is there counts once the group is there.
"""

from __future__ import annotations

import os
import time
from typing import Any

SPAWNED, JOINING, JOINED = "spawned", "joining", "joined"
SHARDED, WRAPPED, STEPPING = "sharded", "wrapped", "stepping"
LEFT, ENDED = "left", "ended"

_FIRST = (ENDED, LEFT, JOINING, STEPPING)
"""Whichever is reached first in this order is the stage."""
_IN_GROUP = (WRAPPED, SHARDED, JOINED)
"""Then, for a process that has joined, whichever of these."""


class Standing:
    """One life of a process."""

    def __init__(self) -> None:
        self.process = os.urandom(16).hex()
        self.pid = os.getpid()
        self.on = False
        """Whether this process reports: helpers and forked workers do not."""
        self.helper = False
        """Whether a rank has started it and gave it its own environment."""
        self.launcher = False
        """Whether it starts ranks and is none, as far as was seen."""
        self.rank: int | None = None
        self.world: int | None = None
        self.reached: set[str] = set()
        self.stage = SPAWNED
        self.since = time.monotonic()
        self.lines: dict[str, str] = {}
        self.grouped = False
        self.destroyed = False
        self.wrapper: str | None = None
        self.error: dict[str, Any] | None = None
        self.checksum: dict[str, Any] | None = None
        self.device: str | None = None
        self.told: dict[str, Any] = {"metrics": {}}
        """What the script said by itself: the latest of each."""

    def reach(self, stage: str) -> bool:
        """Note that a stage is reached; true if it is now the stage of the process."""
        self.reached.add(stage)
        return self._settle()

    def join(self) -> bool:
        """The process asks for its group."""
        self.reached -= {LEFT, STEPPING, JOINED}
        return self.reach(JOINING)

    def joined(self) -> bool:
        """It is there."""
        self.grouped, self.destroyed = True, False
        self.reached.discard(JOINING)
        return self.reach(JOINED)

    def leave(self) -> bool:
        """The process has destroyed its group."""
        self.destroyed = True
        self.reached -= {JOINED, SHARDED, WRAPPED, STEPPING}
        return self.reach(LEFT)

    def _settle(self) -> bool:
        stage = next((stage for stage in _FIRST if stage in self.reached), None)
        if stage is None:
            inside = _IN_GROUP if JOINED in self.reached else ()
            stage = next((stage for stage in inside if stage in self.reached), SPAWNED)
        if stage == self.stage:
            return False
        self.stage, self.since = stage, time.monotonic()
        return True


class Me:
    """This process, now. A forked child is another: it gets a standing of its own."""

    def __init__(self) -> None:
        self.now = Standing()
        self.begun = False
        self.silent = False
        """Whether it says nothing unless it joins a group: forked children, tools of libraries."""


ME = Me()
