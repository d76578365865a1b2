"""What is decided, one table row or one sentence for each case."""

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from builders import NOW, SITE, a_job, a_pod, at, ended, pending, seen, starting
from trainingjobs.model.observed import Observed, Past, Problem, Trouble
from trainingjobs.model.status import Attempt, Condition, Failure, Phase, Status
from trainingjobs.plan.decide import decide
from trainingjobs.plan.decision import Decision


def created(attempt: int = 1, **more: Any) -> Status:
    """The status of a job whose pods have all been created."""
    fact = Condition(type="PodsCreated", status="True", reason="x", last_transition_time=at(-90))
    known: dict[str, Any] = {
        "phase": Phase.RUNNING,
        "attempt": attempt,
        "start_time": at(-100),
        "attempt_start_time": at(-100),
        "conditions": [fact],
    }
    return Status(**{**known, **more})


def decided(
    there: Observed,
    *,
    status: Status | None = None,
    now: datetime = NOW,
    size: int = 3,
    **spec: Any,
) -> Decision:
    return decide(a_job(size, status=status, **spec), there, now, SITE)


def names(decision: Decision) -> list[str]:
    return [manifest["metadata"]["name"] for manifest in decision.create]


def test_a_new_job_gets_its_service_first_and_then_its_pods_by_rank() -> None:
    decision = decided(seen(service=None))
    assert names(decision) == ["mnist", "mnist-master", "mnist-worker-0", "mnist-worker-1"]
    assert [item["metadata"]["name"] for item in decision.check] == ["mnist-master"]


def test_a_group_of_one_is_a_master_alone() -> None:
    assert names(decided(seen(service=None), size=1)) == ["mnist", "mnist-master"]


def test_the_master_template_is_judged_beside_the_workers() -> None:
    template = {"spec": {"containers": [{"name": "trainer", "image": "m"}]}}
    decision = decided(seen(service=None), masterTemplate=template)
    assert [item["metadata"]["name"] for item in decision.check] == [
        "mnist-master",
        "mnist-worker-0",
    ]


def test_only_what_is_missing_is_made() -> None:
    assert names(decided(seen(a_pod(0), a_pod(2)))) == ["mnist-worker-0"]


@pytest.mark.parametrize(
    ("pods", "phase", "ready"),
    [
        pytest.param([], Phase.PENDING, "0/3", id="nothing is there"),
        pytest.param([a_pod(0), a_pod(1)], Phase.PENDING, "2/3", id="one is not created"),
        pytest.param([a_pod(0), a_pod(1), pending(2)], Phase.PENDING, "2/3", id="one has no node"),
        pytest.param([a_pod(0), a_pod(1), starting(2)], Phase.STARTING, "2/3", id="one starts"),
        pytest.param([a_pod(0), a_pod(1), a_pod(2)], Phase.RUNNING, "3/3", id="all run"),
        pytest.param([ended(0, 0), a_pod(1), a_pod(2)], Phase.RUNNING, "3/3", id="one is done"),
    ],
)
def test_the_phase_says_where_the_group_stands(pods: list[Any], phase: Phase, ready: str) -> None:
    status = decided(seen(*pods)).status
    assert (status.phase, status.ready) == (phase, ready)


def test_all_done_is_success_and_final() -> None:
    status = decided(seen(ended(0, 0), ended(1, 0), ended(2, 0)), status=created()).status
    assert status.phase is Phase.SUCCEEDED
    assert status.completion_time == NOW
    again = decided(seen(), status=status)
    assert (again.status, again.create, again.delete) == (status, (), ())


def test_a_rank_that_was_seen_to_succeed_is_not_run_again() -> None:
    status = created(succeeded_ranks="1")
    decision = decided(seen(a_pod(0), a_pod(2)), status=status)
    assert not decision.acts
    assert decision.status.ready == "3/3"


def test_the_master_alone_may_decide_success() -> None:
    there = seen(ended(0, 0), a_pod(1), a_pod(2))
    decision = decided(there, status=created(), successPolicy="Master")
    assert decision.status.phase is Phase.SUCCEEDED
    assert [ref.name for ref in decision.delete] == ["mnist-worker-0", "mnist-worker-1"]


def test_a_failure_restarts_the_whole_group_and_is_charged() -> None:
    there = seen(a_pod(0), ended(1, 3, reason="Error", message="boom"), a_pod(2))
    decision = decided(there, status=created())
    status = decision.status
    assert (status.phase, status.attempt, status.restarts, status.disruptions) == (
        Phase.RESTARTING,
        2,
        1,
        0,
    )
    assert len(decision.delete) == 3
    assert decision.create == ()
    assert status.failure is not None
    assert (status.failure.rank, status.failure.exit_code, status.failure.message) == (1, 3, "boom")
    assert status.attempts[-1].failure == status.failure


def test_no_pod_of_the_next_attempt_before_the_last_one_is_gone() -> None:
    status = created(attempt=2, conditions=[], attempt_start_time=None)
    decision = decided(seen(a_pod(0, deletion_requested=at(-5))), status=status)
    assert not decision.acts


@pytest.mark.parametrize("limit", [0, 1, 2])
def test_the_budget_is_spent_to_the_last_restart(limit: int) -> None:
    there = seen(a_pod(0), ended(1, 3, message="line one\nlast words"), a_pod(2))
    spent = decided(there, status=created(restarts=limit), maxRestarts=limit).status
    assert spent.phase is Phase.FAILED
    assert "rank 1 (mnist-worker-0 on node-a) exited with code 3: last words" in spent.message
    assert f"restarted {limit} of {limit} times" in spent.message
    if limit:
        left = decided(there, status=created(restarts=limit - 1), maxRestarts=limit).status
        assert (left.phase, left.restarts) == (Phase.RESTARTING, limit)


@pytest.mark.parametrize(
    ("action", "phase", "restarts"),
    [("Fail", Phase.FAILED, 0), ("Restart", Phase.RESTARTING, 1), ("Ignore", Phase.RESTARTING, 0)],
)
def test_failure_rules_decide_by_exit_code(action: str, phase: Phase, restarts: int) -> None:
    rules = [{"exitCodes": [3, 4], "action": action}, {"exitCodes": [3], "action": "Fail"}]
    status = decided(
        seen(a_pod(0), ended(1, 3), a_pod(2)), status=created(), failureRules=rules
    ).status
    assert (status.phase, status.restarts) == (phase, restarts)


@pytest.mark.parametrize(
    "lost",
    [
        pytest.param([a_pod(0), a_pod(2)], id="gone without a word"),
        pytest.param([a_pod(0), a_pod(1, deletion_requested=at(-3)), a_pod(2)], id="deleted"),
        pytest.param(
            [
                a_pod(0),
                replace(ended(1, 137, after=58), disruption="EvictionByEvictionAPI"),
                a_pod(2),
            ],
            id="evicted",
        ),
        pytest.param(
            [
                ended(0, 1, after=57),
                replace(ended(1, 0, after=58), deletion_requested=at(-3)),
                a_pod(2),
            ],
            id="deleted, and it left politely",
        ),
    ],
)
def test_what_the_cluster_took_is_a_disruption(lost: list[Any]) -> None:
    status = decided(seen(*lost), status=created(), maxRestarts=0).status
    assert (status.phase, status.restarts, status.disruptions) == (Phase.RESTARTING, 0, 1)
    assert status.failure is not None
    assert status.failure.rank == 1


@pytest.mark.parametrize(
    "politely",
    [
        pytest.param({"disruption": "TerminationByKubelet", "phase": "Failed"}, id="evicted"),
        pytest.param({"deletion_requested": at(-1)}, id="deleted, by a clock that is ahead"),
    ],
)
def test_a_rank_that_saves_and_leaves_when_told_to_has_not_succeeded(politely: Any) -> None:
    told = replace(ended(1, 0, after=58), **politely)
    status = decided(seen(a_pod(0), told, a_pod(2)), status=created()).status
    assert (status.phase, status.disruptions, status.succeeded_ranks) == (Phase.RESTARTING, 1, "")


def test_a_rank_that_was_seen_to_succeed_counts_though_nothing_was_written() -> None:
    past = Past(succeeded=frozenset({(1, 2)}))
    decision = decided(seen(a_pod(0), a_pod(1), past=past), status=created())
    assert (decision.acts, decision.status.succeeded_ranks) == (False, "2")


@pytest.mark.parametrize(
    ("vanished", "rank", "disruptions"),
    [
        pytest.param({}, 0, 0, id="nobody saw it: it may have been tidied up"),
        pytest.param({(1, 2): at(-61)}, 2, 1, id="it vanished first, and took the other along"),
        pytest.param({(1, 2): at(-30)}, 0, 0, id="it vanished later"),
    ],
)
def test_what_vanished_is_the_cause_if_it_was_first(
    vanished: Any, rank: int, disruptions: int
) -> None:
    there = seen(ended(0, 1, message="boom"), a_pod(1), past=Past(vanished=vanished))
    status = decided(there, status=created()).status
    assert status.failure is not None
    assert (status.failure.rank, status.disruptions) == (rank, disruptions)


def test_pods_of_another_plan_are_replaced() -> None:
    """Suspended, changed and resumed while nobody looked."""
    running = decided(seen(a_pod(0), a_pod(1), a_pod(2)), status=created()).status
    decision = decided(seen(a_pod(0), a_pod(1), a_pod(2)), status=running, size=2)
    assert (decision.status.phase, decision.status.attempt) == (Phase.RESTARTING, 2)
    assert len(decision.delete) == 3
    assert decision.status.attempts[-1].reason == "SpecChanged"
    assert (decision.status.restarts, decision.status.disruptions) == (0, 0)


def test_a_service_that_was_lost_comes_back_by_itself() -> None:
    decision = decided(seen(*(a_pod(rank) for rank in range(3)), service=None), status=created())
    assert names(decision) == ["mnist"]
    assert decision.check == ()


def test_nothing_is_built_while_a_refusal_stands() -> None:
    problem = Problem(trouble=Trouble.QUOTA, name="mnist-worker-1", message="full")
    assert decided(seen(a_pod(0), a_pod(1), problems=(problem,))).create == ()


def test_the_first_to_fall_is_named_and_the_others_are_its_victims() -> None:
    closed = "RuntimeError: Connection closed by peer [10.0.0.2]:4711"
    there = seen(
        ended(0, 1, message=closed), ended(1, 3, message="ValueError: boom"), ended(2, 1, after=1)
    )
    failure = decided(there, status=created()).status.failure
    assert failure is not None
    assert (failure.rank, failure.victims) == (1, "0,2")


def test_fresh_news_of_a_failure_waits_for_the_rest() -> None:
    fresh = replace(ended(2, 1, after=60, message="Connection reset by peer"), noticed_end=at(-0.5))
    decision = decided(seen(a_pod(0), a_pod(1), fresh), status=created())
    assert not decision.acts
    assert decision.wake_at == at(1)
    assert decision.status == created()


def test_a_failure_whose_group_has_ended_needs_no_waiting() -> None:
    fresh = [replace(ended(rank, 1, after=60), noticed_end=NOW) for rank in range(3)]
    assert decided(seen(*fresh), status=created()).status.phase is Phase.RESTARTING


@pytest.mark.parametrize(
    ("before", "delay"), [(0, 0), (1, 10), (2, 20), (5, 160), (6, 300), (9, 300)]
)
def test_restarts_back_off(before: int, delay: int) -> None:
    past = [
        Attempt(attempt=n + 1, start_time=at(-300), end_time=at(-290), reason="Error")
        for n in range(before)
    ]
    status = created(attempt=before + 1, attempts=past)
    there = seen(*(replace(ended(rank, 1), attempt=before + 1) for rank in range(3)))
    due = decided(there, status=status, maxRestarts=100).status.next_attempt_time
    assert due == (at(delay) if delay else None)


def test_a_long_attempt_resets_the_back_off() -> None:
    past = [Attempt(attempt=1, start_time=at(-900), end_time=at(-800), reason="Error")]
    status = created(attempt=2, attempts=past, attempt_start_time=at(-700))
    there = seen(*(replace(ended(rank, 1), attempt=2) for rank in range(3)))
    assert decided(there, status=status).status.next_attempt_time is None


def test_a_back_off_is_waited_out_and_told() -> None:
    status = created(
        attempt=3,
        conditions=[],
        attempts=[Attempt(attempt=2, end_time=at(-1), reason="Error")],
        next_attempt_time=at(10),
        failure=Failure(rank=1, pod="mnist-worker-0", exit_code=3, reason="Error", message="boom"),
    )
    waiting = decided(seen(), status=status)
    assert not waiting.acts
    assert waiting.wake_at == at(10)
    assert waiting.status.message == (
        "attempt 3 starts at 2026-03-01T12:00:10Z: rank 1 (mnist-worker-0) exited with code 3: boom"
    )
    assert waiting.status.phase is Phase.RESTARTING
    assert len(decided(seen(), status=waiting.status, now=at(10)).create) == 3


@pytest.mark.parametrize(
    ("said", "phase"),
    [
        pytest.param("no shard 17 of 40", Phase.FAILED, id="the same words, but for numbers"),
        pytest.param("something new", Phase.RESTARTING, id="other words"),
        pytest.param("", Phase.RESTARTING, id="no words: nothing to compare"),
    ],
)
def test_a_rank_that_dies_the_same_way_again_and_again_is_given_up(said: str, phase: Phase) -> None:
    death = Failure(
        rank=1, pod="mnist-worker-0", exit_code=3, reason="Error", message="no shard 4 of 40"
    )
    past = [
        Attempt(attempt=n, end_time=at(-200), reason="Error", failure=death) for n in range(1, 5)
    ]
    status = created(attempt=5, attempts=past, restarts=4)
    pods = [a_pod(0, attempt=5), ended(1, 3, attempt=5, reason="Error", message=said)]
    told = decided(seen(*pods), status=status, maxRestarts=100, size=2).status
    assert told.phase is phase
    if phase is Phase.FAILED:
        assert "the same failure 5 times in a row, restarted 4 of 100 times" in told.message


def test_suspending_deletes_and_resuming_starts_a_new_attempt() -> None:
    pods = [a_pod(rank) for rank in range(3)]
    suspended = decided(seen(*pods), status=created(), suspend=True)
    assert suspended.status.phase is Phase.SUSPENDED
    assert len(suspended.delete) == 3
    assert (suspended.status.attempt, suspended.status.restarts) == (2, 0)
    again = decided(seen(), status=suspended.status, suspend=True)
    assert (again.status.attempt, again.status.instances.missing) == (2, 3)
    assert decided(seen(), status=again.status, suspend=True).status == again.status
    resumed = decided(seen(), status=suspended.status, now=at(60))
    assert len(resumed.create) == 3
    assert resumed.status.start_time == at(60)
    assert resumed.status.phase is Phase.PENDING


def test_a_job_that_is_born_suspended_makes_nothing() -> None:
    decision = decided(seen(service=None), suspend=True)
    assert not decision.acts
    assert (decision.status.phase, decision.status.attempt) == (Phase.SUSPENDED, 1)
    assert decision.status.start_time is None


def test_a_deadline_ends_the_job_and_wakes_the_operator() -> None:
    pods = [a_pod(rank) for rank in range(3)]
    early = decided(seen(*pods), status=created(), activeDeadlineSeconds=160)
    assert early.wake_at == at(60)
    late = decided(seen(*pods), status=created(), activeDeadlineSeconds=100)
    assert late.status.phase is Phase.FAILED
    assert late.status.message == "not finished 100 s after its start"
    assert len(late.delete) == 3


def test_a_group_that_does_not_start_in_time_fails_with_what_it_waits_for() -> None:
    pods = [a_pod(0), a_pod(1), pending(2, words="0/1 nodes are available")]
    status = created(phase=Phase.PENDING)
    decision = decided(seen(*pods), status=status, startupTimeoutSeconds=100)
    assert decision.status.phase is Phase.FAILED
    assert "rank 2 (mnist-worker-1) cannot be scheduled: 0/1 nodes" in decision.status.message


def test_a_finished_job_is_deleted_when_its_time_has_come() -> None:
    status = created(phase=Phase.SUCCEEDED, completion_time=at(-30))
    kept = decided(seen(), status=status, ttlSecondsAfterFinished=60)
    assert (kept.delete_job, kept.wake_at) == (False, at(30))
    assert decided(seen(), status=status, ttlSecondsAfterFinished=30).delete_job
    assert not decided(seen(), status=status).delete_job


def test_a_finished_job_notes_a_changed_spec_and_changes_nothing_else() -> None:
    status = created(phase=Phase.SUCCEEDED, completion_time=at(-30), observed_generation=1)
    job = replace(a_job(status=status), generation=2)
    noted = decide(job, seen(), NOW, SITE).status
    assert {item.observed_generation for item in noted.conditions} == {2}
    back = [item.model_copy(update={"observed_generation": 0}) for item in noted.conditions]
    assert noted.model_copy(update={"observed_generation": 1, "conditions": back}) == status


@pytest.mark.parametrize(
    ("policy", "left"), [("Running", {0, 1}), ("All", set()), ("None", {0, 1, 2})]
)
def test_which_pods_stay_when_the_job_ends(policy: str, left: set[int]) -> None:
    there = seen(ended(0, 0), ended(1, 1), a_pod(2))
    decision = decided(there, status=created(), cleanPodPolicy=policy, maxRestarts=0)
    gone = {ref.uid for ref in decision.delete}
    assert {pod.rank for pod in there.pods if pod.uid not in gone} == left
    assert decision.status.ready == ("2/3" if policy == "None" else "1/3")


def test_a_sidecar_that_never_ends_does_not_keep_a_finished_pod() -> None:
    with_sidecar = replace(ended(0, 0), phase="Running", lingers=True)
    decision = decided(seen(with_sidecar), status=created(), size=1)
    assert decision.status.phase is Phase.SUCCEEDED
    assert len(decision.delete) == 1


def test_a_pod_whose_end_the_kubelet_has_half_told_keeps_its_log() -> None:
    half_told = replace(ended(0, 0), phase="Running")
    decision = decided(seen(half_told), status=created(), size=1)
    assert decision.status.phase is Phase.SUCCEEDED
    assert not decision.delete


@pytest.mark.parametrize(
    ("trouble", "phase", "words"),
    [
        (Trouble.INVALID, Phase.FAILED, "the API server refuses the template of mnist-worker-1"),
        (Trouble.QUOTA, Phase.PENDING, "2 of 3 pods created, then quota refused mnist-worker-1"),
        (Trouble.CONFLICT, Phase.PENDING, "pod mnist-worker-1 is not ours"),
        (Trouble.FORBIDDEN, Phase.PENDING, "2 of 3 pods created, then mnist-worker-1 was refused"),
        (Trouble.UNAVAILABLE, Phase.PENDING, "trying again"),
    ],
)
def test_a_refusal_is_told(trouble: Trouble, phase: Phase, words: str) -> None:
    problem = Problem(
        trouble=trouble, name="mnist-worker-1", message="pod mnist-worker-1 is not ours"
    )
    status = decided(seen(a_pod(0), a_pod(1), problems=(problem,))).status
    assert status.phase is phase
    assert words in status.message
    created = (
        next(item for item in status.conditions if item.type == "PodsCreated")
        if (phase is Phase.PENDING)
        else None
    )
    assert created is None or (created.status, created.reason) == ("False", trouble.value)


def test_the_schedulers_words_are_told() -> None:
    pods = [a_pod(0), pending(1, words="0/1 nodes: too little cpu"), pending(2, words="the same")]
    status = decided(seen(*pods), status=created(phase=Phase.PENDING)).status
    assert status.message == (
        "rank 1 (mnist-worker-0) (and 1 more) cannot be scheduled: 0/1 nodes: too little cpu"
    )


def test_a_failed_pull_and_its_pause_read_the_same() -> None:
    first = decided(
        seen(a_pod(0), a_pod(1), starting(2, reason="ErrImagePull", message="no such host")),
        status=created(phase=Phase.STARTING),
    ).status
    assert "ErrImagePull: no such host" in first.message
    pause = seen(a_pod(0), a_pod(1), starting(2, reason="ImagePullBackOff", message="back-off"))
    assert decided(pause, status=first, now=at(5)).status == first


@pytest.mark.parametrize("reason", ["InvalidImageName", "ErrImageNeverPull"])
def test_an_image_that_can_never_be_pulled_ends_the_job(reason: str) -> None:
    there = seen(a_pod(0), a_pod(1), starting(2, reason=reason, message="bad name"))
    status = decided(there, status=created(phase=Phase.STARTING)).status
    assert status.phase is Phase.FAILED
    assert f"{reason}: bad name" in status.message


def test_a_job_that_is_being_deleted_is_left_alone() -> None:
    job = replace(a_job(), deleting=True)
    assert not decide(job, seen(service=None), NOW, SITE).acts
