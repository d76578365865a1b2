"""Room for a group: all or nothing, and what is said meanwhile."""

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from builders import NOW, SITE, a_job, a_pod, at, ended, pending, seen
from trainingjobs.model.observed import Observed, PodSeen, Problem, Trouble
from trainingjobs.model.status import Condition, Failure, Phase, Status
from trainingjobs.plan.decide import decide
from trainingjobs.plan.decision import Decision

ELASTIC = {"elastic": {"minInstances": 2, "maxInstances": 8}}
QUOTA = Problem(trouble=Trouble.QUOTA, name="mnist-worker-1", message="exceeded quota: pods=2")


def waiting(since: float = -120, **more: Any) -> Status:
    """The status of a job whose group is there in part."""
    known = {
        "phase": Phase.PENDING,
        "attempt": 1,
        "start_time": at(since),
        "attempt_start_time": at(since),
        "partial_since": at(since),
        "group_size": 3,
        "group_asked": 3,
    }
    return Status(**{**known, **more})


def decided(
    there: Observed, status: Status, now: datetime = NOW, size: int = 3, **spec: Any
) -> Decision:
    return decide(a_job(size, status=status, **spec), there, now, SITE)


HALF = [a_pod(0), a_pod(1), pending(2, words="0/1 nodes: too little cpu")]


def test_a_group_in_part_gives_its_room_back_after_a_while() -> None:
    early = decided(seen(*HALF), waiting(-119))
    assert (early.status.phase, early.delete, early.wake_at) == (Phase.PENDING, (), at(1))
    late = decided(seen(*HALF), waiting())
    assert len(late.delete) == 3
    assert late.status.phase is Phase.PENDING
    assert late.status.message == (
        "only 2 of 3 instances found room in 120 s: rank 2 (mnist-worker-1) cannot be scheduled: "
        "0/1 nodes: too little cpu; released, to be tried again"
    )
    assert (late.status.restarts, late.status.disruptions, late.status.attempts) == (0, 0, [])


def test_an_api_server_that_does_not_answer_is_no_lack_of_room() -> None:
    deaf = Problem(trouble=Trouble.UNAVAILABLE, name="mnist-worker-1", message="no answer")
    made = (a_pod(0), a_pod(1))
    fresh = waiting(-300, partial_since=None)
    assert decided(seen(*made, problems=(deaf,)), fresh).status.partial_since is None
    assert decided(seen(*made, problems=(QUOTA,)), fresh).status.partial_since == NOW
    assert decided(seen(*HALF, problems=(deaf,)), fresh).status.partial_since == NOW


def test_it_comes_again_later_and_says_so_until_then() -> None:
    released = decided(seen(*HALF), waiting()).status
    due = released.next_attempt_time
    assert due is not None
    assert at(5) <= due <= at(10)
    gone = decided(seen(), released, at(1))
    assert not gone.acts
    assert (gone.status.message, gone.wake_at) == (released.message, due)
    assert len(decided(seen(), gone.status, due).create) == 3


def test_it_stays_away_longer_each_time_and_a_placed_group_forgets_that() -> None:
    waits = []
    for before in (0, 1, 2, 8):
        due = decided(seen(*HALF), waiting(placement_timeouts=before)).status.next_attempt_time
        assert due is not None
        waits.append((due - NOW).total_seconds())
    assert waits == sorted(waits)
    assert waits[-1] <= 300
    whole = decided(seen(*(a_pod(rank) for rank in range(3))), waiting(placement_timeouts=8))
    assert whole.status.placement_timeouts == 0


def test_two_jobs_do_not_come_back_together() -> None:
    jobs = [replace(a_job(3, status=waiting(placement_timeouts=4)), uid=uid) for uid in "abcd"]
    dues = {decide(job, seen(*HALF), NOW, SITE).status.next_attempt_time for job in jobs}
    assert len(dues) == 4


@pytest.mark.parametrize(
    ("pods", "problems", "released"),
    [
        pytest.param([pending(0), pending(1), pending(2)], (), False, id="none holds room"),
        pytest.param([a_pod(0), a_pod(1), a_pod(2)], (), False, id="all have room"),
        pytest.param([pending(0), pending(1)], (QUOTA,), True, id="a quota counts pods"),
        pytest.param([], (QUOTA,), False, id="a quota took none"),
        pytest.param([ended(0, 0), pending(1), pending(2)], (), True, id="one has even ended"),
    ],
)
def test_who_has_something_to_give_back(
    pods: list[PodSeen], problems: tuple[Problem, ...], released: bool
) -> None:
    first = decided(seen(*pods, problems=problems), waiting(-240, partial_since=None), at(-120))
    decision = decided(seen(*pods, problems=problems), first.status)
    assert bool(decision.delete) is released


def test_a_quota_is_named_when_its_part_is_given_back() -> None:
    decision = decided(seen(pending(0), pending(1), problems=(QUOTA,)), waiting())
    assert "found room in 120 s: exceeded quota: pods=2" in decision.status.message


def test_an_elastic_group_goes_on_with_the_part_that_found_room() -> None:
    shrunk = decided(seen(*HALF), waiting(), **ELASTIC).status
    assert (shrunk.group_size, shrunk.attempt, shrunk.phase) == (2, 2, Phase.RESTARTING)
    assert "only 2 of 3 instances found room: going on with 2" in shrunk.message
    again = decided(seen(), shrunk, **ELASTIC)
    ranks = [pod["metadata"]["labels"]["trainingjob.dev/rank"] for pod in again.create]
    assert ranks == ["0", "1"]
    sizes = {
        item["value"]
        for pod in again.create
        for item in pod["spec"]["containers"][0]["env"]
        if item["name"] in {"WORLD_SIZE", "PARALLEL_INSTANCES", "PET_NNODES"}
    }
    assert sizes == {"2"}
    assert again.status.ready == "0/2"


def test_an_elastic_group_below_its_least_size_gives_back() -> None:
    pods = [a_pod(0), pending(1, words="no"), pending(2, words="no")]
    decision = decided(seen(*pods), waiting(), **ELASTIC)
    assert decision.status.group_size == 3
    assert decision.status.next_attempt_time is not None


@pytest.mark.parametrize("asked", [2, 5])
def test_an_elastic_group_is_scaled_as_a_new_attempt(asked: int) -> None:
    running = waiting(phase=Phase.RUNNING)
    pods = [a_pod(rank) for rank in range(3)]
    scaled = decided(seen(*pods), running, size=asked, **ELASTIC)
    assert (scaled.status.group_size, scaled.status.group_asked) == (asked, asked)
    assert scaled.status.message == f"scaled from 3 to {asked} instances"
    assert (len(scaled.delete), scaled.status.restarts) == (3, 0)
    assert len(decided(seen(), scaled.status, size=asked, **ELASTIC).create) == asked


def test_the_clock_runs_from_when_a_part_found_room_not_from_when_it_asked() -> None:
    """Three pods that waited for long are bound one after the other: no part is thrown out."""
    status = waiting(-900, partial_since=None)
    first = decided(seen(a_pod(0), pending(1), pending(2)), status)
    assert (first.status.partial_since, first.delete, first.wake_at) == (NOW, (), at(120))
    whole = decided(seen(*(a_pod(rank) for rank in range(3))), first.status, at(1))
    assert (whole.status.partial_since, whole.status.phase) == (None, Phase.RUNNING)


def test_a_shrunk_group_does_not_take_itself_for_scaled() -> None:
    shrunk = decided(seen(*HALF), waiting(), **ELASTIC).status
    pods = [a_pod(rank, attempt=2) for rank in range(2)]
    running = decided(seen(*pods), shrunk, at(30), **ELASTIC)
    assert (running.status.phase, running.status.ready, running.acts) == (
        Phase.RUNNING,
        "2/2",
        False,
    )


def test_a_pod_that_does_not_go_is_named_with_its_node() -> None:
    fell = Condition(type="PodsCreated", status="False", reason="x", last_transition_time=NOW)
    status = waiting(attempt=2, conditions=[fell], attempt_start_time=None)
    leaves = a_pod(1, deletion_requested=at(-20), deletion_due=at(-10))
    patient = decided(seen(leaves), status)
    assert "attempt 2 starts when all earlier pods are gone" in patient.status.message
    assert patient.wake_at == at(20)
    stuck = decided(seen(leaves), status, at(20)).status
    assert stuck.message.startswith(
        "mnist-worker-0 on node-a was to end by 2026-03-01T11:59:50Z and is still there"
    )


def test_a_failure_before_stays_told_while_old_pods_go() -> None:
    failure = Failure(rank=1, pod="mnist-worker-0", exit_code=3, reason="Error", message="boom")
    pods = [a_pod(0), ended(1, 3, message="boom"), a_pod(2)]
    fact = Condition(type="PodsCreated", status="True", reason="x", last_transition_time=NOW)
    restarted = decided(seen(*pods), waiting(phase=Phase.RUNNING, conditions=[fact])).status
    assert restarted.failure is not None
    assert restarted.failure.rank == failure.rank
    going = [replace(pod, deletion_requested=NOW) for pod in pods]
    assert decided(seen(*going), restarted, at(1)).status.message.endswith(
        "exited with code 3: boom"
    )


LIMITS = {"startupTimeoutSeconds": 200, "placementTimeoutSeconds": 60}


def test_a_release_for_lack_of_room_is_part_of_the_same_start() -> None:
    """Who waits 200 s for a group to run does not wait for ever since it comes in parts."""
    released = decided(seen(*HALF), waiting(), **LIMITS).status
    assert (released.attempt, released.attempt_start_time) == (2, None)
    due = released.next_attempt_time
    assert due is not None
    again = decided(seen(), released, due, **LIMITS).status
    assert (again.attempt_start_time, again.starting_since) == (at(6), at(-120))
    late = decided(seen(*(replace(it, attempt=2) for it in HALF)), again, at(80), **LIMITS)
    assert late.status.phase is Phase.FAILED
    assert late.status.message == (
        "not all instances ran 200 s after start: rank 2 (mnist-worker-1) cannot be scheduled: "
        "0/1 nodes: too little cpu"
    )


def test_a_start_may_end_while_a_released_group_stays_away() -> None:
    released = decided(seen(*HALF), waiting(-195, placement_timeouts=4), **LIMITS).status
    away = decided(seen(), released, at(1), **LIMITS)
    assert (away.status.phase, away.wake_at) == (Phase.PENDING, at(5))
    late = decided(seen(), away.status, at(5), **LIMITS).status
    assert (late.phase, late.completion_time) == (Phase.FAILED, at(5))
    assert late.message.startswith("not all instances ran 200 s after start: only 2 of 3 instances")


def test_a_group_that_shrinks_to_its_room_starts_as_part_of_the_same_start() -> None:
    shrunk = decided(seen(*HALF), waiting(), **ELASTIC, **LIMITS).status
    going = decided(seen(), shrunk, at(1), **ELASTIC, **LIMITS)
    assert (going.status.starting_since, going.status.group_size) == (at(-120), 2)
    assert going.wake_at == at(80)


@pytest.mark.parametrize(
    ("pods", "status", "spec"),
    [
        pytest.param([a_pod(0), ended(1, 3), a_pod(2)], {}, {}, id="an instance fell"),
        pytest.param([a_pod(rank) for rank in range(3)], {}, {"size": 4, **ELASTIC}, id="scaled"),
        pytest.param(HALF, {"running_time": at(-130)}, {}, id="it had run before"),
    ],
)
def test_any_other_attempt_starts_anew(
    pods: list[PodSeen], status: dict[str, Any], spec: dict[str, Any]
) -> None:
    fact = Condition(type="PodsCreated", status="True", reason="x", last_transition_time=NOW)
    over = decided(seen(*pods), waiting(conditions=[fact], **status), **spec, **LIMITS).status
    assert (over.attempt, over.starting_since) == (2, None)


def test_a_job_of_an_earlier_operator_keeps_the_time_of_its_start() -> None:
    assert decided(seen(*HALF), waiting(-60)).status.starting_since == at(-60)
