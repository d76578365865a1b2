"""What restarts a group, what it costs, and what is never taken for a failure."""

from dataclasses import replace
from typing import Any

import pytest

from builders import SITE, UID, a_job, a_pod, at, ended, pending, seen, starting
from cases.given import decided, going
from trainingjobs.model.status import MAX_ATTEMPTS_KEPT, Phase, Status
from trainingjobs.plan import manifests
from world import World


@pytest.mark.parametrize("limit", [0, 1, 2, 5])
@pytest.mark.parametrize("code", [1, 3, 137, 143])
def test_a_group_that_always_fails_starts_once_more_than_it_may_restart(
    limit: int, code: int
) -> None:
    world = World(a_job(2, maxRestarts=limit))
    for _ in range(4 * limit + 4):
        world.settle()
        for rank in range(2):
            world.run(rank)
        world.end(1, code)
        world.pass_time(1000)
    world.settle()
    status = world.job.status
    assert (status.phase, status.attempt, status.restarts) == (Phase.FAILED, limit + 1, limit)
    assert len(world.starts) == 2 * (limit + 1)
    assert len(set(world.starts)) == len(world.starts)


def test_a_disruption_costs_no_restart_however_often() -> None:
    world = World(a_job(2, maxRestarts=0))
    for _ in range(20):
        world.settle()
        world.run(0)
        world.run(1)
        world.step()
        world.lose(1)
    world.settle()
    status = world.job.status
    assert (status.restarts, status.disruptions, status.attempt) == (0, 20, 21)
    assert len(status.attempts) == MAX_ATTEMPTS_KEPT
    assert [item.attempt for item in status.attempts] == list(range(11, 21))


@pytest.mark.parametrize(
    ("pod", "reason"),
    [
        pytest.param(
            replace(ended(1, 137, after=58), deletion_requested=at(-12)),
            "Deleted",
            id="deleted, and killed at the end of its grace",
        ),
        pytest.param(
            replace(ended(1, 143, after=58), deletion_requested=at(-12)),
            "Deleted",
            id="deleted, and ended by the signal",
        ),
        pytest.param(
            replace(ended(1, 3, after=58), disruption="PreemptionByScheduler"),
            "PreemptionByScheduler",
            id="preempted, and left with a code of its own",
        ),
        pytest.param(
            a_pod(1, phase="Failed", running=False, disruption="OutOfcpu"),
            "OutOfcpu",
            id="refused by the kubelet",
        ),
        pytest.param(a_pod(1, deletion_requested=at(-1)), "Deleted", id="still leaving"),
    ],
)
def test_who_was_told_to_go_did_not_fail(pod: Any, reason: str) -> None:
    rules = [{"exitCodes": [3, 137, 143], "action": "Fail"}]
    status = decided(seen(a_pod(0), pod, a_pod(2)), maxRestarts=0, failureRules=rules).status
    assert (status.phase, status.restarts, status.disruptions) == (Phase.RESTARTING, 0, 1)
    assert status.failure is not None
    assert (status.failure.rank, status.failure.reason) == (1, reason)


def test_who_fell_before_it_was_deleted_did_fail() -> None:
    fell = replace(ended(1, 3, after=40), deletion_requested=at(-12))
    assert decided(seen(a_pod(0), fell, a_pod(2)), maxRestarts=0).status.phase is Phase.FAILED


def test_when_one_rank_is_taken_all_are_told_to_go_together() -> None:
    """So that each has its own grace to save, and saves the same step."""
    taken = a_pod(1, deletion_requested=at(-1), disruption="EvictionByEvictionAPI")
    decision = decided(seen(a_pod(0), taken, a_pod(2)))
    assert [ref.name for ref in decision.delete] == ["mnist-master", "mnist-worker-1"]


def test_what_becomes_of_pods_that_we_told_to_go_is_no_failure() -> None:
    elastic = {"elastic": {"minInstances": 1, "maxInstances": 4}}
    pods = [a_pod(rank) for rank in range(3)]
    smaller = decided(seen(*pods), size=2, maxRestarts=0, **elastic).status
    assert (smaller.phase, smaller.attempt, smaller.group_size) == (Phase.RESTARTING, 2, 2)
    killed = [replace(ended(rank, 137), deletion_requested=at(-70)) for rank in range(3)]
    later = decided(seen(*killed), smaller, at(1), size=2, maxRestarts=0, **elastic).status
    assert (later.phase, later.restarts, later.disruptions) == (Phase.RESTARTING, 0, 0)


def test_now_and_so_far_are_counted_apart() -> None:
    status = going(restarts=1, disruptions=2)
    told = decided(seen(*(a_pod(rank) for rank in range(3))), status).status
    assert told.instances.model_dump(exclude_defaults=True) == {"running": 3}
    assert (told.restarts, told.disruptions, told.ready) == (1, 2, "3/3")


def test_what_is_leaving_is_counted_as_such() -> None:
    there = seen(a_pod(0, attempt=1, deletion_requested=at(-1)), a_pod(1, attempt=1))
    told = decided(there, going(attempt=2, conditions=[])).status
    assert told.instances.model_dump(exclude_defaults=True) == {"terminating": 2, "missing": 1}


@pytest.mark.parametrize("others", [a_pod, starting, pending])
def test_a_failure_is_decided_once_whatever_the_others_do(others: Any) -> None:
    there = seen(others(0), ended(1, 3), others(2))
    rules = [{"exitCodes": [3], "action": "Fail"}]
    assert decided(there).status.phase is Phase.RESTARTING
    assert decided(there, failureRules=rules).status.phase is Phase.FAILED


def test_a_master_that_left_first_is_not_blamed_for_who_missed_it() -> None:
    closed = "RuntimeError: Broken pipe"
    there = seen(ended(0, 0), ended(1, 1, after=5, message=closed), a_pod(2))
    status = decided(there).status
    assert (status.phase, status.restarts) == (Phase.RESTARTING, 1)
    assert status.failure is not None
    assert (status.failure.rank, status.failure.message) == (1, closed)
    assert status.succeeded_ranks == ""


def test_no_attempt_meets_the_rendezvous_of_another() -> None:
    def rendezvous(attempt: int) -> set[str]:
        job = a_job(3, status=going(attempt=attempt))
        pods = [manifests.pod(job, rank, SITE) for rank in range(3)]
        env = [item for pod in pods for item in pod["spec"]["containers"][0]["env"]]
        return {item["value"] for item in env if item["name"] == "PET_RDZV_ID"}

    assert (rendezvous(1), rendezvous(2)) == ({f"{UID}-1"}, {f"{UID}-2"})


@pytest.mark.parametrize("elastic", [True, False])
def test_a_rank_too_many_starts_the_group_anew_though_no_status_tells_of_it(elastic: bool) -> None:
    """Its operator died before its first word, and the user asked for fewer meanwhile."""
    spec = {"elastic": {"minInstances": 1, "maxInstances": 4}} if elastic else {}
    pods = [a_pod(rank) for rank in range(3)]
    decision = decided(seen(*pods), Status(), size=2, **spec)
    assert (decision.status.attempt, decision.status.message) == (2, "scaled to 2 instances")
    assert len(decision.delete) == 3
    assert len(decided(seen(), decision.status, size=2, **spec).create) == 2
