"""The lives that are recorded and then disturbed, each from apply to its end."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from faults.laws import Body
from faults.scene import Over, Stage

ALL = (0, 1, 2)


@dataclass(frozen=True, slots=True)
class Scenario:
    """What is applied and what then happens to it."""

    play: Callable[[Stage], Awaitable[None]]
    spec: Body = field(default_factory=dict)
    scheduler: str = ""

    @property
    def whole_spec(self) -> Body:
        """The spec as the user applies it."""
        container = {"name": "trainer", "image": "my/trainer:1"}
        # this server gives no account to a pod, which a pod that reports has to have
        pod = {"containers": [container], "serviceAccountName": "default"}
        named = {"schedulerName": self.scheduler} if self.scheduler else {}
        return {
            "PARALLEL_INSTANCES": len(ALL),
            "template": {"spec": {**pod, **named}},
            **self.spec,
        }


async def play(scenario: Scenario, stage: Stage) -> None:
    """The whole life, also where it ends early."""
    await stage.apply()
    with contextlib.suppress(Over):
        await scenario.play(stage)


async def _finish(stage: Stage, attempt: int) -> None:
    await stage.up(attempt)
    await stage.end(attempt, *ALL)
    await stage.scene.until("the end", lambda: stage.scene.finished)


async def _success(stage: Stage) -> None:
    await _finish(stage, 1)


async def _restart(stage: Stage) -> None:
    await stage.up(1)
    await stage.end(1, 1, code=3)
    await _finish(stage, 2)


async def _spent(stage: Stage) -> None:
    await stage.up(1)
    await stage.end(1, 2, code=1)
    await stage.up(2)
    await stage.end(2, 1, code=7)
    await stage.scene.until("the end", lambda: stage.scene.finished)


async def _deleted(stage: Stage) -> None:
    stage.linger = 0.5
    await stage.up(1)
    await stage.delete(1, 1)
    await _finish(stage, 2)


async def _suspended(stage: Stage) -> None:
    scene = stage.scene
    await stage.up(1)
    await stage.change(suspend=True)
    await stage.until("phase Suspended", lambda: scene.status["phase"] == "Suspended")
    await stage.until("no pods", lambda: not scene.pods)
    await asyncio.sleep(0.1)
    await stage.change(suspend=False)
    await _finish(stage, 2)


async def _evicted(stage: Stage) -> None:
    stage.linger = 0.5
    await stage.up(1)
    await stage.evict(1, 1)
    await _finish(stage, 2)


async def _starved(stage: Stage) -> None:
    await stage.up(1)
    await stage.starve(1, 2)
    await _finish(stage, 2)


async def _elastic(stage: Stage) -> None:
    """It grows, and of the larger group only one finds room: the group shrinks to that."""
    await stage.up(1)
    await stage.change(PARALLEL_INSTANCES=3)
    await stage.made(2)
    await stage.bind(2, 0)
    await stage.up(3, size=1)
    await stage.end(3, 0)
    await stage.scene.until("the end", lambda: stage.scene.finished)


async def _gang(stage: Stage) -> None:
    groups = stage.scene.groups
    await stage.up(1)
    await stage.change(elastic={"minInstances": 3, "maxInstances": 3})
    await stage.until(
        "the group's new size", lambda: {it["spec"]["minMember"] for it in groups.values()} == {3}
    )
    await stage.end(1, 1, code=3)
    await _finish(stage, 2)
    await stage.scene.until("no pod group", lambda: not groups)


async def _expired(stage: Stage) -> None:
    await _finish(stage, 1)
    await stage.scene.until("the job's deletion", lambda: stage.scene.gone)


SCENARIOS = {
    "success": Scenario(_success),
    "restart": Scenario(_restart),
    "spent": Scenario(_spent, {"maxRestarts": 1}),
    "deleted": Scenario(_deleted),
    "suspended": Scenario(_suspended),
    "evicted": Scenario(_evicted),
    "starved": Scenario(_starved),
    "elastic": Scenario(
        _elastic,
        {
            "PARALLEL_INSTANCES": 2,
            "elastic": {"minInstances": 1, "maxInstances": 3},
            "placementTimeoutSeconds": 3,
        },
    ),
    "gang": Scenario(
        _gang, {"elastic": {"minInstances": 2, "maxInstances": 3}}, scheduler="volcano"
    ),
    "expired": Scenario(_expired, {"cleanPodPolicy": "All", "ttlSecondsAfterFinished": 2}),
}
