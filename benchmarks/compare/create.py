"""From the request for jobs to all of their pods, on nodes that do not exist.

Nothing schedules the pods, so nobody but the system and the API server is at work.
"""

import math
import statistics
from typing import Final

from benchmarks.compare.trial import Figures, Trial, warm

_FEW: Final = 20
"""Below so many jobs a percentile means nothing."""


async def create(work: Trial, jobs: int, pods: int) -> Figures:
    """So many jobs of so many pods at once."""
    with work.started():
        await warm(work)
        work.begin()
        began = await work.submit(named(jobs, pods))
        await work.whole()
        figures = since(began, work)
        await work.settled()
        services = sorted(work.view.services.values())
        if services:
            figures["services"] = services[-1] - began
        return figures | work.cost()


def named(jobs: int, pods: int, prefix: str = "job") -> dict[str, int]:
    """Names and sizes."""
    return {f"{prefix}-{number:03}": pods for number in range(jobs)}


def since(began: float, work: Trial) -> Figures:
    """When the first and the last pod came, and how long the jobs had to wait for theirs."""
    made = sorted(it.added for it in work.view.pods.values())
    wanted = sum(work.view.sizes.values())
    all_there = made[wanted - 1] - began if len(made) >= wanted else math.nan
    figures = {"first pod": made[0] - began if made else math.nan, "all pods": all_there}
    return figures | spread("a job's pods", [it - began for it in work.view.whole.values()])


def spread(what: str, seconds: list[float]) -> Figures:
    """The middle and the slow end of many."""
    if len(seconds) < _FEW:
        return {}
    hundredths = statistics.quantiles(seconds, n=100, method="inclusive")
    return {f"{what}, p50": hundredths[49], f"{what}, p99": hundredths[98]}
