"""The whole life of jobs whose pods run and end, and the life of a group that falls."""

import asyncio
import math
import time
from typing import Final

from benchmarks.compare.audit import WRITES
from benchmarks.compare.create import named, since, spread
from benchmarks.compare.nodes import NODE, end, kubelet
from benchmarks.compare.systems import COLLECTS
from benchmarks.compare.trial import Figures, Trial, at_rest, warm

_BESIDE: Final = frozenset(
    {"create pods", "create services", "create configmaps", "create jobs", "create serviceaccounts"}
)
"""What a job consists of; all other writes are about it."""
_EARLY: Final = 1.0
"""Jobs and pods come by two watches, of which one may be read later than the other."""


async def life(work: Trial, jobs: int, pods: int) -> Figures:
    """So many jobs from the request until their success is told."""
    with work.started(), kubelet(work.stand):
        await warm(work)
        work.begin()
        began = await work.submit(named(jobs, pods), NODE)
        await work.whole()
        figures = since(began, work) | await _running(work, began)
        if math.isnan(figures.get("Running", 0.0)):
            return figures | work.cost()
        figures |= await _succeeded(work)
        await work.settled()
        figures["writes to Succeeded"] = beside(work) / jobs
        return figures | work.cost()


async def _running(work: Trial, began: float) -> Figures:
    view, wanted = work.view, sum(work.view.sizes.values())
    pods_run = await view.until(lambda: view.phases["Running"] >= wanted, work.patience)
    figures = {"all pods run": pods_run - began}
    if work.system.raw:
        return figures
    await view.until(lambda: len(view.running) == len(view.sizes), work.patience)
    figures["Running"] = _last(work, view.running) - began
    figures |= _lags(work, "Running", view.running)
    await work.settled()
    return figures | {"writes to Running": beside(work) / len(view.sizes)}


async def _succeeded(work: Trial) -> Figures:
    view = work.view
    began = time.monotonic()
    await end(work, view.living())
    if work.system.raw:
        return {}
    await view.until(lambda: len(view.succeeded) == len(view.sizes), work.patience)
    told = {"Succeeded": _last(work, view.succeeded) - began}
    return told | _lags(work, "Succeeded", view.succeeded)


def _last(work: Trial, told: dict[str, float]) -> float:
    return max(told.values()) if len(told) == len(work.view.sizes) else math.nan


def _lags(work: Trial, phase: str, told: dict[str, float]) -> Figures:
    """How long after its last pod each job said so."""
    last: dict[str, float] = {}
    for pod in work.view.pods.values():
        last[pod.job] = max(last.get(pod.job, 0.0), pod.phases.get(phase, -math.inf))
    # a job that never said so is later than all others
    lags = [told.get(job, math.inf) - last.get(job, math.inf) for job in work.view.sizes]
    if min(lags) < -_EARLY:
        raise RuntimeError(f"a job was {phase} {-min(lags):.1f} s before its last pod")
    return {f"{phase} lag, longest": max(lags)} | spread(f"{phase} lag", lags)


def beside(work: Trial) -> int:
    """Writes about jobs: all that do not make what a job consists of."""
    asked = work.requests().items()
    writes = {what: count for what, count in asked if what.split()[0] in WRITES}
    return sum(count for what, count in writes.items() if what not in _BESIDE)


async def quiet(work: Trial, pods: int) -> Figures:
    """A job that runs: what the system does about it for a minute."""
    with work.started(), kubelet(work.stand):
        await warm(work)
        await work.submit(named(1, pods), NODE)
        await work.view.until(lambda: len(work.view.running) == 1, work.patience)
        await work.settled()
        return await at_rest(work)


async def fall(work: Trial, pods: int) -> Figures:
    """A group that runs, of which one rank fails: until all of the next attempt are there."""
    view = work.view
    with work.started(COLLECTS), kubelet(work.stand):
        await warm(work)
        await work.submit(named(1, pods), NODE)
        await view.until(lambda: len(view.running) == 1, work.patience)
        await work.settled()
        work.begin()
        before = set(view.pods)
        began = time.monotonic()
        await end(work, [view.living()[pods // 2]], code=1)
        await view.until(lambda: len(view.pods) >= 2 * pods, work.patience)
        await view.until(lambda: view.phases["Running"] >= pods, work.patience)
        made = [pod.added for uid, pod in view.pods.items() if uid not in before]
        last = max(made) if len(made) >= pods else math.inf
        times = [view.pods[uid].gone for uid in before]
        gone = math.inf if any(map(math.isnan, times)) else max(times)
        await asyncio.sleep(1)
        return {
            "old pods gone": gone - began,
            "new pods there": last - began,
            "there after gone": last - gone,
            **work.cost(),
        }
