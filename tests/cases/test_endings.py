"""How a job ends, what stays of it, and that nothing makes it begin again."""

from dataclasses import replace
from typing import Any

import pytest

from builders import NOW, SITE, a_job, a_pod, at, ended, pending, seen, starting
from cases.given import decided, going, truths, waiting
from trainingjobs.model.observed import Observed
from trainingjobs.model.status import Phase
from trainingjobs.plan.decide import decide
from world import World

FAILS = seen(a_pod(0), ended(1, 3), a_pod(2))
ENDS: dict[str, tuple[Observed, dict[str, Any]]] = {
    "a failure rule": (FAILS, {"failureRules": [{"exitCodes": [3], "action": "Fail"}]}),
    "no restart left": (FAILS, {"maxRestarts": 0}),
    "the deadline": (seen(a_pod(0), ended(1, 0), a_pod(2)), {"activeDeadlineSeconds": 60}),
    "success of the master": (
        seen(ended(0, 0), a_pod(1), a_pod(2)),
        {"successPolicy": "Master"},
    ),
}


@pytest.mark.parametrize("policy", ["Running", "All", "None"])
@pytest.mark.parametrize(("there", "spec"), ENDS.values(), ids=ENDS)
def test_however_it_ends_the_same_pods_stay(
    there: Observed, spec: dict[str, Any], policy: str
) -> None:
    decision = decided(there, cleanPodPolicy=policy, **spec)
    assert decision.status.finished
    gone = {ref.uid for ref in decision.delete}
    left = {pod.rank for pod in there.pods if pod.uid not in gone}
    over = {pod.rank for pod in there.pods if pod.ended}
    assert left == {"Running": over, "All": set(), "None": {0, 1, 2}}[policy]


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(pending(2), id="without a node"),
        pytest.param(starting(2), id="starting"),
        pytest.param(starting(2, reason="CrashLoopBackOff"), id="between two starts"),
        pytest.param(starting(2, reason="ImagePullBackOff"), id="waiting for an image"),
        pytest.param(a_pod(2, phase="Unknown", running=False), id="on a silent node"),
        pytest.param(replace(ended(2, 0), lingers=True), id="kept by a sidecar"),
    ],
)
def test_what_still_holds_a_node_or_may_get_one_counts_as_running(pod: Any) -> None:
    there = seen(ended(0, 0), ended(1, 137, reason="OOMKilled"), pod)
    decision = decided(there, maxRestarts=0)
    assert decision.status.phase is Phase.FAILED
    assert [ref.uid for ref in decision.delete] == [pod.uid]


def test_a_clean_up_that_an_operator_died_over_is_made_up_for() -> None:
    written = decided(FAILS, maxRestarts=0).status
    later = decided(FAILS, written, at(3600), maxRestarts=0)
    assert [ref.name for ref in later.delete] == ["mnist-master", "mnist-worker-1"]
    assert later.status == written


@pytest.mark.parametrize("code", [0, 3])
def test_a_finished_job_whose_objects_are_taken_away_makes_none(code: int) -> None:
    end = decided(seen(*(ended(rank, code) for rank in range(3))), maxRestarts=0).status
    assert end.finished
    for left in (seen(), seen(service=None), seen(a_pod(0)), seen(ended(1, 1))):
        later = decided(left, end, at(60), maxRestarts=5)
        assert not later.create
        assert later.status == end


@pytest.mark.parametrize("spec", [{"suspend": True}, {"activeDeadlineSeconds": 1}])
def test_what_is_finished_is_neither_suspended_nor_late(spec: dict[str, Any]) -> None:
    end = decided(seen(*(ended(rank, 0) for rank in range(3)))).status
    assert decided(seen(), end, at(3600), **spec).status == end


def test_a_group_that_is_suspended_as_it_ends_has_succeeded() -> None:
    """Its work is done: run once more, it would be done twice."""
    there = seen(*(ended(rank, 0) for rank in range(3)))
    decision = decided(there, suspend=True)
    assert decision.status.phase is Phase.SUCCEEDED
    assert not decision.delete


def test_a_job_that_was_never_seen_to_run_goes_straight_to_its_end() -> None:
    for code, truth in ((0, "True"), (1, "False")):
        there = seen(*(ended(rank, code) for rank in range(3)))
        status = decided(there, waiting(), maxRestarts=0).status
        assert status.finished
        found = truths(status)
        assert (found["Running"], found["Succeeded"], found["Finished"]) == ("False", truth, "True")


@pytest.mark.parametrize("limit", [0, 1, 2])
def test_success_at_the_last_try_is_success(limit: int) -> None:
    status = going(restarts=limit)
    there = seen(*(ended(rank, 0) for rank in range(3)))
    assert decided(there, status, maxRestarts=limit).status.phase is Phase.SUCCEEDED


def test_a_time_to_live_begins_with_the_end() -> None:
    running = decided(seen(*(a_pod(rank) for rank in range(3))), ttlSecondsAfterFinished=0)
    assert (running.delete_job, running.wake_at) == (False, None)
    suspended = decided(seen(a_pod(0)), ttlSecondsAfterFinished=0, suspend=True)
    assert suspended.status.phase is Phase.SUSPENDED
    again = decided(seen(), suspended.status, at(3600), ttlSecondsAfterFinished=0, suspend=True)
    assert (again.delete_job, again.wake_at) == (False, None)


def test_no_clock_runs_while_a_job_is_suspended() -> None:
    limits = {"activeDeadlineSeconds": 60, "startupTimeoutSeconds": 60}
    status = decided(seen(), suspend=True, **limits).status
    for hours in range(1, 4):
        decision = decided(seen(), status, at(3600 * hours), suspend=True, **limits)
        assert (decision.status.phase, decision.wake_at) == (Phase.SUSPENDED, None)
    resumed = decided(seen(), status, at(9999), **limits)
    assert resumed.status.phase is Phase.PENDING
    assert resumed.wake_at == at(9999 + 60)
    assert truths(resumed.status)["Suspended"] == "False"


def test_a_deadline_counts_from_the_first_start_over_all_attempts() -> None:
    world = World(a_job(1, activeDeadlineSeconds=60, maxRestarts=100))
    world.settle()
    for _ in range(7):
        if world.job.status.finished:
            break
        world.run(0)
        world.end(0, 1)
        world.pass_time(11)
        world.step()
        world.bury()
        world.step()
    else:
        world.pass_time(60)
        world.step()
    assert world.job.status.phase is Phase.FAILED
    assert world.job.status.message == "not finished 60 s after its start"


def test_a_clock_that_was_set_back_ends_nothing_early() -> None:
    ahead = going(start_time=at(40), attempt_start_time=at(40))
    there = seen(*(a_pod(rank) for rank in range(3)))
    decision = decided(there, ahead, activeDeadlineSeconds=60, startupTimeoutSeconds=60)
    assert decision.status.phase is Phase.RUNNING
    assert decision.wake_at == at(100)


def test_the_end_names_who_fell_after_all_pods_are_gone() -> None:
    there = seen(a_pod(0), ended(1, 137, reason="OOMKilled", message="step 7"), a_pod(2))
    end = decided(there, maxRestarts=0, cleanPodPolicy="All").status
    job = replace(a_job(3, status=end), resource_version="99")
    told = decide(job, seen(service=None), at(3600), SITE).status
    assert told.failure is not None
    assert (told.failure.rank, told.failure.node, told.failure.exit_code) == (1, "node-a", 137)
    assert told.message == (
        "rank 1 (mnist-worker-0 on node-a) exited with code 137 (OOMKilled): step 7 "
        "(restarted 0 of 0 times)"
    )
    assert told.completion_time == NOW
