"""The beat of training: steps, their rate, and where the time between them goes.

All of this runs inside of the user's loop, so each call is a handful of plain operations: no
locks, no allocations that grow, nothing that could wait. The reporter's thread only reads.

A look at a step costs little where the processor has ours at hand, and ten times as much after
a backward pass, which needs its caches for other things. So quick steps are looked at in rows,
about twice a second, and only counted in between.
"""

from __future__ import annotations

import time
from collections import deque

clock = time.monotonic

SAMPLE = 1.0
"""Seconds between two points from which the rate is taken; slower steps are a point each."""
POINTS = 60
RECENT = 32
"""Steps over which own and data time are averaged."""
QUICK = 0.01
"""Seconds of a step; of shorter ones not each is looked at."""
ROW = 8
"""Steps in a row that are looked at: what takes turns, as two optimizers do, is all seen."""
REST = 0.5
"""Seconds until the next row, as quick as the steps are now."""
STILL = 1.0
"""Seconds without a sign after which all that moves is looked at again."""


class Rhythm:
    """Counts the beats of one process."""

    __slots__ = (
        "awake", "data", "last", "left", "longest", "mark", "own", "points", "recent", "row",
        "since", "steps", "whole",
    )  # fmt: skip

    def __init__(self) -> None:
        self.steps = 0
        self.left = 0
        """Steps to come that are only counted."""
        self.awake = True
        """Whether what happens between two steps is looked at."""
        self.whole = True
        """Whether it was from the beginning of this step."""
        self.row, self.since = 0, 0.0
        """Steps in a row that were looked at, and when the row began."""
        self.last = clock()
        """The last sign of progress."""
        self.longest = 0.0
        self.mark: float | None = None
        """Since when the process works for itself: not in backward, nor in a collective."""
        self.own = self.data = 0.0
        self.recent: deque[tuple[float, float]] = deque(maxlen=RECENT)
        self.points: deque[tuple[float, int]] = deque(maxlen=POINTS)

    def sign(self, now: float) -> None:
        """Something moves. Silences count once training has a rhythm: from the first step on."""
        gap = now - self.last
        if gap > self.longest and self.steps:
            self.longest = gap
        self.last = now

    def step(self, now: float) -> None:
        """An optimizer step is done."""
        if self.own and self.whole:
            self.recent.append((self.own, self.data))
        self.own = self.data = 0.0
        self.sign(now)
        self.steps += 1
        self.mark = now
        self.awake = self.whole = True
        points = self.points
        if not points or now - points[-1][0] >= SAMPLE:
            points.append((now, self.steps))

    def rest(self, now: float) -> None:
        """After a row of quick steps, count those of the next moment and look at none of them."""
        if not self.row:
            self.since = now
        elif self.row == ROW:
            pace = (now - self.since) / ROW
            if pace < QUICK:
                self.awake = self.whole = False
                self.left = int(REST / max(pace, 1e-6))
            self.row = -1
        self.row += 1

    def stir(self, now: float) -> None:
        """Look at all that moves, if it may be slow by now. The reporter's thread calls this."""
        if not self.awake and self.quiet(now) >= STILL:
            self.left = 0
            self.awake = True

    def count(self, now: float, steps: int) -> None:
        """The steps that somebody else has counted."""
        self.steps = steps
        if not self.points or now - self.points[-1][0] >= SAMPLE:
            self.points.append((now, steps))

    def backward(self, now: float) -> None:
        """Backward begins: from here on, the others may be waited for."""
        if self.mark is not None:
            self.own += now - self.mark

    def came_back(self, now: float) -> None:
        """Backward is over: with many of them to one step, it is all that moves."""
        self.sign(now)
        if self.mark is not None:
            self.mark = now

    def exchanged(self, start: float, now: float) -> None:
        """A collective is over: its time was not the process's own, and all have come to it."""
        self.sign(now)
        self.left = 0  # the step that it is for is looked at
        if self.mark is not None:
            self.mark += now - start

    def fetched(self, start: float, now: float) -> None:
        """The data loader has given a batch."""
        self.data += now - start
        self.sign(now)

    def quiet(self, now: float) -> float:
        """Seconds since the last sign of progress."""
        return max(0.0, now - self.last)

    def rate(self, now: float) -> float:
        """Steps per second over the last minute, or the last 60 steps where these take longer."""
        points = list(self.points)
        if not points:
            return 0.0
        (first, before), (last, steps) = points[0], points[-1]
        if len(points) == 1:
            last, steps = now, self.steps
        elif now - last > 2 * (last - first) / (len(points) - 1) + SAMPLE:
            last = now
        return (steps - before) / (last - first) if last > first else 0.0

    def shares(self) -> tuple[float | None, float | None]:
        """Own and data seconds of a usual step: the longest few are evaluations and the like."""
        recent = sorted(self.recent)
        if not recent:
            return None, None
        usual = recent[: max(1, len(recent) - len(recent) // 16)]
        own, data = (sum(column) / len(usual) for column in zip(*usual))
        return max(0.0, own), min(max(0.0, data), max(0.0, own))


BEAT = Rhythm()
"""The one of this process."""
TALE = Rhythm()
"""The one that its script tells, where none can be seen."""
