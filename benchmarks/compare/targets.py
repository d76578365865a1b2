"""The targets of the project, each with what was measured beside it."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from benchmarks.compare.medians import Medians

Figure = Callable[[Medians], float]


@dataclass(frozen=True, slots=True)
class Target:
    """One promise, and the figures that it is held to."""

    what: str
    wanted: str
    bounds: tuple[tuple[Figure, float, str], ...]
    """What is measured, the most that it may be, and its unit."""

    def row(self, found: Medians) -> str:
        """A row of the page's table."""
        measured = [(figure(found), most, unit) for figure, most, unit in self.bounds]
        shown = ", ".join(f"{value:.2f} {unit}".strip() for value, _, unit in measured)
        if any(map(math.isnan, (value for value, *_ in measured))):
            return f"| {self.what} | {self.wanted} | not measured | |"
        met = all(value <= most for value, most, _ in measured)
        return f"| {self.what} | {self.wanted} | {shown} | {'yes' if met else 'no'} |"


def _ours(scenario: str, what: str) -> Figure:
    return lambda found: found.of(scenario, "ours", what)


def _thousands(scenario: str, what: str) -> Figure:
    """A figure that says nothing after a quick look at a part of the jobs."""
    return lambda found: _ours(scenario, what)(found) if found.whole else math.nan


def _ratio(scenario: str, what: str) -> Figure:
    return lambda found: found.of(scenario, "ours", what) / found.of(scenario, "raw", what)


TARGETS: Final = (
    Target(
        "a job of 500 pods, from the request until all are created",
        "≤ 1.3 times as many raw parallel POSTs",
        ((_ratio("1x500", "all pods"), 1.3, "times raw"),),
    ),
    Target(
        "API writes of a job beyond its pods, service and ConfigMap",
        "≤ 4 to Running, ≤ 6 to Succeeded",
        (
            (_ours("life-1x100", "writes to Running"), 4, "to Running"),
            (_ours("life-1x100", "writes to Succeeded"), 6, "to Succeeded"),
        ),
    ),
    Target(
        "API writes while nothing changes, 1,000 finished jobs",
        "0 a minute",
        ((_thousands("finished", "writes a minute"), 0, "a minute"),),
    ),
    Target(
        "API writes while nothing changes, a job of 100 pods that run and do not report",
        "0 a minute",
        ((_ours("quiet", "writes a minute"), 0, "a minute"),),
    ),
    Target(
        "from a pod's change until the status shows it, p99",
        "≤ 0.5 s",
        (
            (_ours("life-100x8", "Running lag, p99"), 0.5, "s (Running)"),
            (_ours("life-100x8", "Succeeded lag, p99"), 0.5, "s (Succeeded)"),
        ),
    ),
    Target(
        "memory of the operator with next to nothing to do",
        "≤ 100 MB",
        ((_ours("1x8", "peak"), 95.4, "MiB"),),
    ),
    Target(
        "memory of the operator at 1,000 jobs with 10,000 pods",
        "≤ 150 MB",
        ((_thousands("restart", "memory"), 143.1, "MiB"),),
    ),
    Target(
        "a restart of the operator with 1,000 jobs",
        "first right action ≤ 5 s, nothing made twice",
        (
            (_thousands("restart", "first right action"), 5, "s"),
            (_thousands("restart", "pods made too often"), 0, "pods twice"),
            (_thousands("restart", "pods deleted"), 0, "pods deleted"),
        ),
    ),
    Target(
        "from the end of the old pods until all ranks of the next attempt are created",
        "≤ 2 s",
        ((_ours("fall", "there after gone"), 2, "s (100 ranks)"),),
    ),
    Target(
        "a rank that hangs is named, with the right line (`make bench-hang`)",
        "≤ stallTimeoutSeconds + 10 s",
        (
            (_ours("hang", "named after the timeout, a collective left out"), 10, "s (left out)"),
            (_ours("hang", "named after the timeout, a process stopped"), 10, "s (stopped)"),
        ),
    ),
)
