"""What others do to a system: a large job beside small ones, and pods that are not its own."""

import asyncio
import math
import time
from collections.abc import Awaitable, Iterator
from typing import Final

from benchmarks.compare.client import Client, Request
from benchmarks.compare.create import named, spread
from benchmarks.compare.kinds import IMAGE
from benchmarks.compare.stand import Stand
from benchmarks.compare.trial import Figures, Trial, make_namespace, trial, warm

FOREIGN: Final = "foreign"
_SMALL: Final = 50
_SMALL_PODS: Final = 4
_WATCHED: Final = 30.0
_RATE: Final = 200.0


async def beside(work: Trial, pods: int) -> Figures:
    """Small jobs alone, then as many beside a large one."""
    with work.started():
        await warm(work)
        async with trial(work.stand, work.system) as other:
            other.usages = work.usages
            alone = await _small(other)
            await other.settled()
        work.begin()
        await work.submit({"large": pods})
        beside = await _small(work)
        await work.whole()
        figures = {f"{what}, alone": value for what, value in alone.items()}
        figures |= {f"{what}, beside": value for what, value in beside.items()}
        return figures | work.cost()


async def _small(work: Trial) -> Figures:
    sizes, began = named(_SMALL, _SMALL_PODS, "small"), time.monotonic()
    await work.submit(sizes)
    await work.view.until(lambda: sizes.keys() <= work.view.whole.keys(), work.patience)
    whole = work.view.whole
    return spread("a small job's pods", [whole.get(it, math.inf) - began for it in sizes])


async def crowd(stand: Stand, pods: int) -> None:
    """Many pods of somebody else, made once for all systems."""
    async with stand.client() as client:
        await make_namespace(client, FOREIGN)
        await client.all(_strangers(pods))


def _strangers(pods: int) -> Iterator[Request]:
    container = {"name": "app", "image": IMAGE}
    for number in range(pods):
        metadata = {"name": f"stranger-{number}", "labels": {"app": f"app-{number % 100}"}}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
        spec = {"containers": [container]}
        yield "POST", f"/api/v1/namespaces/{FOREIGN}/pods", {**body, "spec": spec}


async def foreign(work: Trial, pods: int) -> Figures:
    """What the system does while they stand still, and while they change."""
    with work.started():
        await warm(work)
        await asyncio.sleep(5)
        idle = await _busy(work, asyncio.sleep(_WATCHED))
        changes = _churn(work.client, pods)
        churning = await _busy(work, changes)
        rate = _RATE * _WATCHED / churning.pop("seconds")
        del idle["seconds"]
        return {
            **{f"{what} at rest": value for what, value in idle.items()},
            **{f"{what} in the churn": value for what, value in churning.items()},
            "changes a second": rate,
            "peak": work.operator.peak(),
        }


async def _busy(work: Trial, meanwhile: Awaitable[None]) -> Figures:
    """Percent of a core while something else goes on."""
    work.begin()
    began = time.monotonic()
    await meanwhile
    seconds = time.monotonic() - began
    own, *others = (100 * it.seconds() / seconds for it in work.usages.values())
    return {"seconds": seconds, "cpu %": own} | (
        {"controllers cpu %": sum(others)} if others else {}
    )


async def _churn(client: Client, pods: int) -> None:
    """Change one pod after the other at a steady rate."""
    began, flying = time.monotonic(), asyncio.Semaphore(50)

    async def one(number: int) -> None:
        async with flying:
            path = f"/api/v1/namespaces/{FOREIGN}/pods/stranger-{number % pods}"
            await client.send("PATCH", path, {"metadata": {"annotations": {"n": str(number)}}})

    async with asyncio.TaskGroup() as group:
        for number in range(int(_RATE * _WATCHED)):
            group.create_task(one(number))
            await asyncio.sleep(max(0.0, began + number / _RATE - time.monotonic()))
