"""Many jobs, and long: a restart with all of them, their rest, and their coming and going."""

import asyncio
import signal
import statistics
import time
from typing import Final

from benchmarks.compare.create import named
from benchmarks.compare.nodes import end
from benchmarks.compare.systems import COLLECTS
from benchmarks.compare.trial import Figures, Trial, at_rest, warm

_TOGETHER: Final = 8
_SAMPLES: Final = 24


async def restart(work: Trial, jobs: int, pods: int) -> Figures:
    """Killed with all of its jobs there; a job that came meanwhile is its first right action."""
    with work.started() as running:
        await warm(work)
        began = await work.submit(named(jobs, pods))
        figures = {"made": await work.whole() - began}
        await work.settled()
        figures |= {"memory": work.operator.memory(), "peak before": work.operator.peak()}
        for process in running.processes.values():
            process.send_signal(signal.SIGKILL)
            process.wait()
    known = len(work.view.pods)
    await work.submit({"late": 4})
    work.stand.audit.forget()
    began = time.monotonic()
    with work.started():
        figures["ready"] = time.monotonic() - began
        first = await work.view.until(lambda: len(work.view.pods) > known, work.patience)
        await work.whole()
        await work.settled()
        asked = work.requests()
        return figures | {
            "first right action": first - began,
            "pods made too often": float(asked.get("create pods", 0) - 4),
            "pods deleted": float(asked.get("delete pods", 0)),
            "cpu": work.operator.seconds(),
            "peak": work.operator.peak(),
            "memory after": work.operator.memory(),
        }


async def rest(work: Trial, jobs: int) -> Figures:
    """Jobs that are over: what the system still does about them."""
    view = work.view
    with work.started():
        await warm(work)
        await work.submit(named(jobs, 1))
        await work.whole()
        await end(work, view.living())
        await view.until(lambda: len(view.succeeded) == jobs, work.patience)
        await work.settled()
        return await at_rest(work) | {
            "memory": work.operator.memory(),
            "peak": work.operator.peak(),
        }


async def churn(work: Trial, jobs: int, pods: int) -> Figures:
    """Jobs that come, succeed and are deleted, a few at a time: does memory grow with them?"""
    samples: list[tuple[float, float]] = []
    done, every = 0, max(1, jobs // _SAMPLES)
    names = iter(named(jobs, pods))

    async def lives() -> None:
        nonlocal done
        for name in names:
            await _one(work, name, pods)
            done += 1
            if done % every == 0:
                samples.append((done, work.operator.memory()))

    # what a peer's jobs leave behind would count as its memory
    with work.started(COLLECTS):
        await warm(work)
        work.begin()
        began = time.monotonic()
        async with asyncio.TaskGroup() as group:
            for _ in range(_TOGETHER):
                group.create_task(lives())
        seconds = time.monotonic() - began
        later = samples[len(samples) // 2 :]
        slope = statistics.linear_regression(*zip(*later, strict=True)).slope
        return {"seconds": seconds, "MiB per 1,000 jobs": 1000 * slope, **work.cost()}


async def _one(work: Trial, name: str, pods: int) -> None:
    view, path = work.view, work.system.kind.path(work.namespace)
    await work.submit({name: pods})
    await view.until(lambda: name in view.whole, work.patience)
    own = [it for it in view.living() if it.job == name]
    await end(work, own)
    await view.until(lambda: name in view.succeeded, work.patience)
    await work.client.send("DELETE", f"{path}/{name}?propagationPolicy=Background")
    core = f"/api/v1/namespaces/{work.namespace}/pods"
    await work.client.all(("DELETE", f"{core}/{it.name}?gracePeriodSeconds=0", None) for it in own)
