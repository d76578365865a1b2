"""How often a training is written down: its end always, its steps now and then, silence never."""

import dataclasses
from typing import Any

import pytest

from builders import UID
from cluster.raw import container, terminated
from diagnosis.given import a_report, idle, joined, joining, spawned, waiting
from test_reconcile import JOB, KEY, Lab
from trainingjobs.cluster.callers import Caller
from trainingjobs.cluster.rolls import Rolls
from trainingjobs.model.report import Report
from trainingjobs.reconcile import Reconciler

STATUS = ("PATCH", f"{JOB}/status")
FIVE = 5.0


class Hearing(Lab):
    """A lab whose operator hears of the ranks."""

    def start(self) -> None:
        """Start the operator, which has heard nothing yet."""
        super().start()
        self.rolls = Rolls(self.now)
        hands = self.reconciler._hands  # noqa: SLF001 - all of it but what the test is about
        self.reconciler = Reconciler(dataclasses.replace(hands, rolls=self.rolls), self.site)

    def hear(self, *reports: Report) -> None:
        """One report of each rank arrives."""
        for report in reports:
            rank = report.rank or 0
            name = "mnist-master" if rank == 0 else f"mnist-worker-{rank - 1}"
            pod = self.api.objects[f"/api/v1/namespaces/lab/pods/{name}"]
            caller = Caller(
                key=KEY,
                job_uid=UID,
                pod_uid=pod["metadata"]["uid"],
                attempt=self.status["attempt"],
                instance=rank,
                processes=1,
                size=3,
            )
            self.rolls.take(caller, report, 500)

    def told(self, kind: str) -> str | None:
        """What a condition says."""
        found = {it["type"]: it["status"] for it in self.status["conditions"]}
        return found.get(kind)

    async def writes(self) -> int:
        """How many statuses one look writes."""
        await self.look()
        return self.api.writes.count(STATUS)

    async def running(self, **changes: Any) -> None:
        """All three ranks run and step."""
        await self.settle()
        self.run_all()
        self.hear(*(a_report(rank, **changes) for rank in range(3)))
        await self.settle()
        assert self.status["phase"] == "Running"


def steps(count: int, **changes: Any) -> list[Report]:
    """All ranks have done so many steps."""
    told = {"told": {"step": count, "total": 1000, "metrics": {"loss": 1 / (count + 1)}}}
    return [a_report(rank, **{"steps": count, **told, **changes}) for rank in range(3)]


@pytest.fixture
def lab() -> Hearing:
    return Hearing()


async def test_ranks_join_and_the_job_runs(lab: Hearing) -> None:
    await lab.settle()
    lab.run_all()
    lab.hear(joining(0, 1), spawned(1), joining(2, 1))
    await lab.settle()
    assert (lab.status["phase"], lab.told("Running")) == ("Starting", "True")
    assert lab.told("Registered") == "False"
    wait = await lab.look()
    assert wait is not None
    assert 0 < wait <= 10
    lab.seconds += wait
    lab.hear(joining(0, 11), spawned(1), joining(2, 11))
    await lab.look()
    lab.seconds += 2
    await lab.look()
    assert lab.status["message"].startswith("2 of 3 ranks joined, missing 1")
    lab.hear(*(joined(rank) for rank in range(3)))
    assert await lab.writes() == 1
    assert (lab.status["phase"], lab.told("Registered")) == ("Running", "True")
    assert lab.events.count("Registered") == 1


async def test_steps_are_written_every_ten_seconds_and_the_last_one_is(lab: Hearing) -> None:
    await lab.running()
    written, seen = 0, []
    for second in range(1, 41):
        lab.seconds += 1
        lab.hear(*steps(10 * second))
        written += await lab.writes()
        seen.append(lab.status["training"]["step"])
    assert written in {3, 4}
    for _ in range(3):
        lab.seconds += await lab.look() or 0.0
    assert (lab.status["training"]["step"], lab.status["progress"]) == (400, "40%")
    assert len(set(seen)) <= 5


async def test_a_stall_is_written_at_once_with_all_that_waited(lab: Hearing) -> None:
    await lab.running()
    lab.seconds += 1
    lab.hear(*steps(10))
    assert await lab.writes() == 0
    lab.hear(*(waiting(rank, told={"step": 10}, steps=10) for rank in (0, 2)), idle(1))
    assert await lab.writes() == 1
    assert lab.told("Stalled") == "True"
    assert "train.py:7" in lab.status["message"]
    assert lab.status["troubledRanks"][0]["rank"] == 1
    assert "Stalled" in lab.events


async def test_a_group_that_stands_writes_its_stall_and_nothing_else(lab: Hearing) -> None:
    await lab.running()
    written = []
    for _ in range(120):
        lab.seconds += FIVE
        since = lab.seconds + 0.2
        still = {"quiet_seconds": since, "stage_seconds": 600 + since, "rate": 2 / since, "cpu": 0}
        lab.hear(*(a_report(rank, **still) for rank in range(3)))
        if await lab.writes():
            written.append(lab.seconds)
    assert written == [300]
    assert lab.told("Stalled") == "True"


async def test_an_operator_that_starts_anew_writes_nothing_until_it_hears(lab: Hearing) -> None:
    await lab.running()
    lab.seconds += 30
    lab.hear(*steps(10))
    await lab.settle()
    pods = [dict(it) for at, it in lab.api.objects.items() if "/pods/" in at]
    service = lab.api.objects["/api/v1/namespaces/lab/services/mnist"]
    lab.start()
    for manifest in (*pods, service):
        lab.store.put({"kind": "Pod", **manifest})
    assert await lab.writes() == 0
    lab.hear(a_report(0, steps=10, told={"step": 10, "total": 1000}))
    lab.seconds += FIVE
    await lab.look()
    assert lab.told("Registered") == "True"
    assert lab.status["phase"] == "Running"


async def test_the_end_has_the_last_step(lab: Hearing) -> None:
    await lab.running()
    lab.seconds += 1
    lab.hear(*steps(999))
    await lab.look()
    for name in lab.pods:
        ended = [container(terminated=terminated(0))]
        lab.change_pod(name, phase="Succeeded", containerStatuses=ended)
    await lab.settle()
    status = lab.status
    assert (status["phase"], status["training"]["step"], status["progress"]) == (
        "Succeeded",
        999,
        "99%",
    )
    assert lab.told("Stalled") == "False"
    assert sum(it for key, it in status["goodput"].items() if key != "ratio") == 1
    lab.seconds += 60
    assert await lab.writes() == 0
