"""What is measured: each scenario by its name, and for which systems."""

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from benchmarks.compare import create, crowd, endure, life
from benchmarks.compare.stand import Stand
from benchmarks.compare.systems import BY_NAME
from benchmarks.compare.trial import Figures, Trial

ALL: Final = tuple(BY_NAME)
QUICK: Final = ("raw", "ours", "jobset", "jobset-raised")
"""For thousands of pods: the Training Operator makes ten in a second, flags or not."""
DEFAULTS: Final = ("ours", "jobset", "training-operator")
OURS: Final = ("ours",)
_THOUSANDS: Final = 1_000
_HUNDREDS: Final = 500
SCALE: Final = float(os.environ.get("BENCH_SCALE") or 1)
"""For a quick look: a part of the jobs and pods where there are thousands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One thing to measure."""

    what: str
    run: Callable[[Trial], Awaitable[Figures]]
    systems: tuple[str, ...] = ALL
    before: Callable[[Stand], Awaitable[None]] | None = None
    """What is there for all systems."""


def _many(number: int) -> int:
    return max(1, round(number * SCALE))


def _create(jobs: int, pods: int) -> Scenario:
    return Scenario(
        what=f"{jobs} x {pods} pods, created",
        run=partial(create.create, jobs=jobs, pods=pods),
        systems=ALL if jobs * pods < _THOUSANDS else QUICK,
    )


def _life(jobs: int, pods: int) -> Scenario:
    return Scenario(
        what=f"{jobs} x {pods} pods, from the request to success",
        run=partial(life.life, jobs=jobs, pods=pods),
        systems=ALL if jobs * pods < _HUNDREDS else QUICK,
    )


SCENARIOS: Final = {
    "1x8": _create(1, 8),
    "1x100": _create(1, 100),
    "1x500": _create(1, 500),
    "1x2000": _create(1, 2000),
    "100x8": _create(100, 8),
    "500x4": _create(500, 4),
    "life-1x8": _life(1, 8),
    "life-1x100": _life(1, 100),
    "life-1x500": _life(1, 500),
    "life-100x8": _life(100, 8),
    "beside": Scenario(
        what="50 x 4 pods beside a job of 2,000",
        run=partial(crowd.beside, pods=_many(2000)),
        systems=("ours", "jobset", "jobset-raised"),
    ),
    "foreign": Scenario(
        what="10,000 foreign pods, 200 changes a second",
        run=partial(crowd.foreign, pods=_many(10_000)),
        systems=DEFAULTS,
        before=partial(crowd.crowd, pods=_many(10_000)),
    ),
    "fall": Scenario(
        what="a rank of 100 fails",
        run=partial(life.fall, pods=100),
        systems=("ours", "jobset", "jobset-raised"),
    ),
    "quiet": Scenario(
        what="a job of 100 pods that runs; nothing changes, and no rank reports",
        run=partial(life.quiet, pods=100),
        systems=DEFAULTS,
    ),
    "restart": Scenario(
        what="killed and started with 1,000 x 10 pods",
        run=partial(endure.restart, jobs=_many(1000), pods=10),
        systems=OURS,
    ),
    "finished": Scenario(
        what="1,000 finished jobs at rest",
        run=partial(endure.rest, jobs=_many(1000)),
        systems=("ours", "jobset-raised", "training-operator"),
    ),
    "churn": Scenario(
        what="1,200 x 4 pods come, succeed and go: an hour of one job in three seconds",
        run=partial(endure.churn, jobs=_many(1200), pods=4),
        systems=("ours", "jobset-raised"),
    ),
}
