"""A stall ends an attempt only where that is asked for; what it leaves is kept first."""

from dataclasses import replace
from typing import Any

import pytest

from builders import NOW, REPORTING, SITE, UID, a_job, a_pod, at, ended, heard, seen
from trainingjobs.model.observed import Observed
from trainingjobs.model.report import Frame
from trainingjobs.model.roll import Roll
from trainingjobs.model.status import Attempt, Condition, Failure, Phase, Status
from trainingjobs.plan import manifests
from trainingjobs.plan.decide import decide
from trainingjobs.plan.decision import Decision
from trainingjobs.status import notify

CREATED = Condition(type="PodsCreated", status="True", reason="x", last_transition_time=at(-900))
RUNNING = Status(
    phase=Phase.RUNNING,
    attempt=1,
    conditions=[CREATED],
    attempt_start_time=at(-900),
    running_time=at(-890),
)
PODS = [a_pod(0), a_pod(1, node="node-b"), a_pod(2)]


def frame(line: int) -> Frame:
    return Frame(file="train.py", line=line, function="main", user=True)


def stands(rank: int, line: int, *, waits_in: str | None = None, **said: Any) -> Any:
    known: dict[str, Any] = {
        "world_size": 3,
        "steps": 20,
        "quiet_seconds": 400.0,
        "frames": [frame(line)],
        "waits_in": waits_in,
    }
    return heard(rank, received=-1, **{**known, **said})


HANGS = Roll(
    entries=(
        stands(0, 8, waits_in="backward"),
        stands(1, 7),
        stands(2, 8, waits_in="backward"),
    )
)
ALIKE = Roll(entries=tuple(stands(rank, 8, waits_in="all_reduce") for rank in range(3)))


def decided(
    roll: Roll = HANGS, *, status: Status = RUNNING, there: Observed | None = None, **spec: Any
) -> Decision:
    job = a_job(3, status=status, **{"onStall": "Restart", **spec})
    return decide(job, replace(there or seen(*PODS), roll=roll), NOW, REPORTING)


def test_a_stalled_group_restarts_and_the_guilty_rank_is_charged() -> None:
    decision = decided()
    status, failure = decision.status, decision.status.failure
    assert failure is not None
    assert (failure.rank, failure.pod, failure.node) == (1, "mnist-worker-0", "node-b")
    assert (failure.reason, failure.time) == ("Stalled", NOW)
    assert "rank 1" in failure.message
    assert "train.py:7" in failure.message
    assert (status.attempt, status.restarts, status.disruptions) == (2, 1, 0)
    assert status.attempts[-1].reason == "Stalled"
    assert len(decision.delete) == 3
    assert status.message.startswith(failure.message)
    assert status.message.endswith("; stacks in ConfigMap mnist-stacks-1")


@pytest.mark.parametrize(
    ("spec", "phase", "due"),
    [
        ({}, Phase.RESTARTING, ("Stalled-1",)),
        ({"maxRestarts": 0}, Phase.FAILED, ("Finished",)),
        ({"maxRestarts": 0, "when": ["Stalled"]}, Phase.FAILED, ("Stalled-1",)),
    ],
)
def test_people_are_told_of_it_though_it_ends_in_the_same_look(
    spec: dict[str, Any], phase: Phase, due: tuple[str, ...]
) -> None:
    asked = {"secretName": "hook", "when": spec.pop("when", ["Finished", "Stalled"])}
    status = decided(notify=asked, **spec).status
    assert (status.phase, status.notified) == (phase, [])
    job = a_job(3, status=status, notify=asked)
    assert notify.due(job, NOW) == due
    assert "rank 1" in str(notify.body(job, due[0]))


def test_its_stacks_are_kept_and_owned_by_the_job() -> None:
    (kept,) = decided().keep
    assert kept["metadata"]["name"] == "mnist-stacks-1"
    assert kept["metadata"]["ownerReferences"][0]["uid"] == UID
    assert kept["immutable"] is True
    text = kept["data"]["stacks.txt"]
    assert text.index("train.py:7") < text.index("train.py:8")


def test_stacks_are_kept_whole_as_far_as_a_config_map_holds_them() -> None:
    kept = manifests.stacks(a_job(), "é" * 400_000)["data"]["stacks.txt"]
    assert len(kept.encode()) == 500_000
    assert set(kept) == {"é"}


DOUBTS = {
    "a rank still works": {"cpu": 3.0},
    "nobody has stepped": {"steps": 0, "sequence": 4},
}


@pytest.mark.parametrize("said", DOUBTS.values(), ids=DOUBTS)
def test_a_stall_that_may_be_none_ends_nothing(said: dict[str, Any]) -> None:
    still = {"quiet_seconds": 3000.0, **said}
    roll = Roll(
        entries=(
            stands(0, 8, waits_in="all_reduce", **{**still, "cpu": 0}),
            stands(1, 7, **still),
            stands(2, 8, waits_in="all_reduce", **{**still, "cpu": 0}),
        )
    )
    decision = decided(roll)
    assert "rank 1" in decision.status.message
    assert (decision.status.attempt, decision.keep, decision.delete) == (1, (), ())


def test_a_stall_that_is_only_reported_ends_nothing() -> None:
    decision = decided(onStall="Report")
    assert (decision.status.attempt, decision.keep, decision.delete) == (1, (), ())


def test_the_budget_ends_it_with_the_stacks_kept() -> None:
    decision = decided(status=RUNNING.model_copy(update={"restarts": 2}), maxRestarts=2)
    status = decision.status
    assert (status.phase, status.restarts) == (Phase.FAILED, 2)
    assert status.attempts[-1].reason == "MaxRestartsExceeded"
    assert "(restarted 2 of 2 times); stacks in ConfigMap mnist-stacks-1" in status.message
    assert [item["metadata"]["name"] for item in decision.keep] == ["mnist-stacks-1"]
    assert len(decision.delete) == 3


def test_the_same_stall_five_times_in_a_row_is_hopeless() -> None:
    failure = decided().status.failure
    past = [
        Attempt(attempt=number, end_time=at(-900), reason="Stalled", failure=failure)
        for number in range(1, 5)
    ]
    status = RUNNING.model_copy(update={"attempts": past})
    assert decided(status=status, maxRestarts=100).status.attempts[-1].reason == "CrashLoop"


def test_a_stall_without_a_guilty_rank_is_told_of_the_master() -> None:
    failure = decided(ALIKE).status.failure
    assert failure is not None
    assert (failure.rank, failure.pod) == (0, "mnist-master")
    assert "all ranks" in failure.message


def test_a_process_of_a_larger_group_is_told_by_its_instance() -> None:
    pods = [a_pod(0), a_pod(1)]
    places = [(0, 0), (1, 0), (2, 1), (3, 1)]
    roll = Roll(
        entries=tuple(
            stands(rank, 7 if rank == 3 else 8, instance=of, world_size=4, waits_in=waits)
            for rank, of in places
            for waits in [None if rank == 3 else "backward"]
        )
    )
    job = a_job(2, status=RUNNING, onStall="Restart", processesPerInstance=2)
    failure = decide(job, seen(*pods, roll=roll), NOW, SITE).status.failure
    assert failure is not None
    assert (failure.rank, failure.pod) == (1, "mnist-worker-0")
    assert "rank 3" in failure.message


def test_what_has_fallen_is_no_stall() -> None:
    there = seen(a_pod(0), ended(1, 1, message="boom"), a_pod(2))
    decision = decided(there=there)
    assert decision.status.failure is not None
    assert decision.status.failure.message == "boom"
    assert decision.keep == ()


def test_a_group_that_was_scaled_starts_anew_with_its_size_and_at_no_charge() -> None:
    status = RUNNING.model_copy(update={"group_size": 3, "group_asked": 2})
    sizes = {"elastic": {"minInstances": 1, "maxInstances": 5}}
    decision = decided(status=status, **sizes)
    assert (decision.status.attempts[-1].reason, decision.status.restarts) == ("Scaled", 0)


@pytest.mark.parametrize("quiet", [10.0, 200.0])
def test_a_group_that_moves_goes_on_and_is_looked_at_in_time(quiet: float) -> None:
    steps = Roll(
        entries=tuple(
            stands(rank, 8, waits_in="backward", quiet_seconds=quiet) for rank in range(3)
        )
    )
    decision = decided(steps)
    assert (decision.status.attempt, decision.acts) == (1, False)
    assert decision.wake_at is not None
    assert decision.wake_at <= at(300 - quiet)


def test_a_restart_is_decided_once() -> None:
    first = decided()
    job = a_job(3, status=first.status, onStall="Restart")
    gone = [replace(pod, deletion_requested=NOW) for pod in PODS]
    again = decide(job, seen(*gone), NOW, REPORTING)
    assert (again.status.restarts, again.keep) == (1, ())


def test_the_words_of_a_stall_are_told_while_the_next_attempt_waits() -> None:
    failure = Failure(rank=1, pod="mnist-worker-0", reason="Stalled", message="rank 1 stands still")
    past = Attempt(attempt=1, end_time=NOW, reason="Stalled", failure=failure)
    status = Status(phase=Phase.RESTARTING, attempt=2, attempts=[past], failure=failure)
    leaves = seen(*(replace(pod, deletion_requested=NOW) for pod in PODS))
    said = decided(Roll(), status=status, there=leaves).status.message
    assert said == "attempt 2 starts when all earlier pods are gone: rank 1 stands still"
