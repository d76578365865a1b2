"""What the roll call says on the resource, for how long, and when it says nothing."""

from dataclasses import replace
from typing import Any

import pytest

from builders import NOW, a_job, a_pod, at, pending, seen
from status.given import (
    ALL,
    JOINING,
    RUN,
    STANDS,
    a_finding,
    a_rank,
    fact,
    healthy,
    joining,
    told,
    truths,
)
from trainingjobs.model.finding import Diagnosis, Fact, Headway, Kind
from trainingjobs.model.report import Stage
from trainingjobs.model.status import Phase, Status
from trainingjobs.model.text import MAX_MESSAGE
from trainingjobs.model.training import MAX_FINDINGS, MAX_TROUBLED
from trainingjobs.model.verdict import Step, Verdict
from trainingjobs.status import conditions, rollcall
from trainingjobs.status.report import report

SILENCE = Diagnosis()
RESTART = Verdict(step=Step.RESTART, reason="Stalled", message="rank 1 stands")
JOINS = joining()
STALL = healthy(stalled=STANDS, findings=(a_finding(),))


def test_a_healthy_group_says_so() -> None:
    status = told(healthy())
    assert truths(status) == {
        "Registered": "True",
        "Stalled": "False",
        "DataSharded": "True",
        "ModelWrapped": "True",
    }
    assert (status.phase, status.message, status.progress) == (Phase.RUNNING, "", "40%")
    assert (status.findings, status.troubled_ranks) == ([], [])
    assert all(item.observed_generation == 1 for item in status.conditions)


def test_a_group_that_reports_nothing_runs_and_nothing_is_said_of_it() -> None:
    status = told(SILENCE)
    assert (status.phase, truths(status), status.progress) == (Phase.RUNNING, {}, None)


def test_what_is_not_spoken_of_has_no_condition_and_what_is_not_known_is_unknown() -> None:
    status = told(healthy(sharded=None, wrapped=Fact(truth=None, reason="Custom")))
    assert truths(status) == {"Registered": "True", "Stalled": "False", "ModelWrapped": "Unknown"}


def test_a_condition_keeps_its_time_while_its_truth_holds() -> None:
    first = told(healthy(stalled=STANDS))
    second = told(healthy(stalled=replace(STANDS, message="anew")), after=first, now=at(60))
    stalled = fact(second, "Stalled")
    assert stalled is not None
    assert (stalled.last_transition_time, stalled.message) == (NOW, "anew")
    third = fact(told(healthy(), after=second, now=at(90)), "Stalled")
    assert third is not None
    assert (third.status, third.last_transition_time) == ("False", at(90))


def test_an_operator_that_starts_anew_leaves_what_was_said_until_reports_come() -> None:
    before = told(STALL)
    after = told(SILENCE, after=before, now=at(60))
    assert after == before


UNDIVIDED = healthy(
    sharded=Fact(truth=False, reason="DataNotSharded"),
    findings=(a_finding(Kind.UNSHARDED), a_finding(Kind.STRAGGLER, (2,))),
)
ONE_HEARD = (a_rank(0), a_rank(1, stage=None), a_rank(2, stage=None))
HEARD_AGAIN = {
    "division is not known": (UNDIVIDED, {"sharded": Fact(truth=None, reason="TooEarly")}),
    "who is heard divides": (UNDIVIDED, {}),
    "a stall": (STALL, {"stalled": None}),
    "a stall that seems to be another's": (
        STALL,
        {"stalled": STANDS, "findings": (a_finding(ranks=(0,)),)},
    ),
}


@pytest.mark.parametrize(("before", "now"), HEARD_AGAIN.values(), ids=HEARD_AGAIN)
def test_an_operator_that_hears_of_some_leaves_what_was_said_of_the_others(
    before: Diagnosis, now: dict[str, Any]
) -> None:
    first = told(before)
    later = told(healthy(ranks=ONE_HEARD, partial=True, **now), after=first, now=at(60))
    assert (truths(later), later.findings, later.troubled_ranks) == (
        truths(first),
        first.findings,
        first.troubled_ranks,
    )
    whole = told(healthy(), after=later, now=at(90))
    assert (truths(whole)["DataSharded"], whole.findings) == ("True", [])


def test_a_stall_stays_named_while_nobody_is_heard() -> None:
    first = told(STALL)
    later = told(replace(STALL, stalled=None, findings=()), after=first, now=at(60))
    assert (later.findings, later.message) == (first.findings, first.message)


def test_who_has_joined_has_joined_though_an_operator_that_starts_anew_hears_of_one_first() -> None:
    one = replace(JOINS, findings=(a_finding(Kind.MISSING), a_finding(Kind.STRAGGLER)))
    after = told(one, after=told(healthy()), now=at(60))
    assert after.phase is Phase.RUNNING
    assert truths(after)["Registered"] == "True"
    assert [found.type for found in after.findings] == ["Straggler"]


def test_a_reserve_goes_when_all_are_heard_and_does_not_come_again() -> None:
    whole = "all 3 ranks joined"
    reserved = f"{whole}, though rank 1 cannot be heard"

    def joined(words: str, after: Any, seconds: float) -> Any:
        fact = Fact(truth=True, reason="AllRanksJoined", message=words)
        return told(replace(healthy(), registered=fact), after=after, now=at(seconds))

    def words(status: Any) -> str:
        return next(it.message for it in status.conditions if it.type == "Registered")

    first = joined(reserved, told(JOINS), 10)
    heard = joined(whole, first, 20)
    again = joined(reserved, heard, 30)
    assert [words(it) for it in (first, heard, again)] == [reserved, whole, whole]


@pytest.mark.parametrize("step", [Step.RESTART, Step.SUSPEND])
def test_a_new_attempt_knows_nothing_yet(step: Step) -> None:
    before = told(STALL)
    verdict = Verdict(step=step, reason="Suspended" if step is Step.SUSPEND else "Stalled")
    after = told(STALL, after=before, now=at(60), verdict=verdict)
    assert after.attempt == 2
    assert truths(after) == {}
    assert (after.findings, after.troubled_ranks, after.training, after.progress) == (
        [],
        [],
        None,
        None,
    )
    assert after.attempts[-1].step == 20


def test_the_steps_of_an_optimizer_say_nothing_of_the_attempt_before() -> None:
    counted = healthy(headway=Headway(step=20))
    assert told(counted, after=told(counted), verdict=RESTART).attempts[-1].step is None


def test_a_job_that_succeeded_still_says_what_was_wrong_with_its_training() -> None:
    verdict = Verdict(step=Step.SUCCEED, reason="Completed", message="all 3 instances succeeded")
    wrong = a_finding(Kind.UNWRAPPED, message="the replicas of 3 ranks train apart")
    after = told(healthy(findings=(wrong,)), verdict=verdict)
    assert after.message == "all 3 instances succeeded, but the replicas of 3 ranks train apart"
    assert told(healthy(), verdict=verdict).message == "all 3 instances succeeded"


@pytest.mark.parametrize("step", [Step.SUCCEED, Step.FAIL])
def test_the_end_is_the_end(step: Step) -> None:
    verdict = Verdict(step=step, reason="Why", message="it is over")
    last = healthy(stalled=STANDS, findings=(a_finding(),), headway=Headway(step=50, total=50))
    status = told(last, after=told(STALL), now=at(60), verdict=verdict)
    stalled = fact(status, "Stalled")
    assert stalled is not None
    assert (stalled.status, stalled.reason, stalled.message) == ("False", str(status.phase), "")
    assert truths(status) | {"Stalled": "False"} == truths(status)
    assert (status.message, status.progress) == ("it is over", "100%")
    training = status.training
    assert training is not None
    assert (training.step, training.steps_per_second, training.eta_seconds) == (50, None, None)


def test_a_job_that_never_spoke_of_a_stall_does_not_at_its_end() -> None:
    status = told(SILENCE, verdict=Verdict(step=Step.SUCCEED, reason="Completed"))
    assert truths(status) == {}


def test_a_group_that_joins_is_starting_though_all_its_instances_run() -> None:
    status = told(JOINS)
    assert (status.phase, status.message, status.running_time) == (Phase.STARTING, "", None)
    running = fact(status, "Running")
    assert running is not None
    assert (running.status, running.reason) == ("True", "AllInstancesRunning")
    assert rollcall.due(status) == at(10)
    late = told(JOINS, after=status, now=at(10))
    assert (late.phase, late.message) == (Phase.STARTING, JOINING.message)
    whole = told(healthy(), after=late, now=at(11))
    assert (whole.phase, whole.message, whole.running_time) == (Phase.RUNNING, "", at(11))
    assert rollcall.due(whole) is None


NOBODY_WAITS = {
    "all prepare their data first": joining(
        ranks=tuple(a_rank(rank, stage=Stage.SPAWNED) for rank in range(3))
    ),
    "all train, and the master is not heard of": joining(
        ranks=(a_rank(0, stage=None), a_rank(1), a_rank(2))
    ),
}


@pytest.mark.parametrize("known", NOBODY_WAITS.values(), ids=NOBODY_WAITS)
def test_a_group_of_which_nobody_waits_for_the_others_runs(known: Diagnosis) -> None:
    status = told(known)
    assert (status.phase, truths(status)["Registered"]) == (Phase.RUNNING, "False")


def test_an_attempt_that_ran_never_goes_back_to_starting_for_its_ranks() -> None:
    ran = told(SILENCE)
    later = told(JOINS, after=ran, now=at(60))
    assert (later.phase, truths(later)["Registered"]) == (Phase.RUNNING, "False")
    assert told(JOINS, after=later, now=at(70)).message == JOINING.message


def test_who_has_joined_keeps_no_instance_from_running_that_says_otherwise() -> None:
    there = seen(a_pod(0), a_pod(1), pending(2))
    before = report(a_job(), there, RUN, NOW, healthy())
    assert (before.phase, truths(before)["Registered"]) == (Phase.PENDING, "True")
    after = told(JOINS, after=before, now=at(5))
    assert (after.phase, truths(after)["Registered"]) == (Phase.RUNNING, "True")


def test_what_keeps_a_pod_from_running_is_said_before_what_the_roll_call_says() -> None:
    there = seen(a_pod(0), a_pod(1), pending(2, words="no room"))
    before = report(a_job(), there, RUN, NOW, JOINS)
    status = report(a_job(status=before), there, RUN, at(60), JOINS)
    assert status.phase is Phase.PENDING
    assert status.message == "rank 2 (mnist-worker-1) cannot be scheduled: no room"


@pytest.mark.parametrize(
    ("diagnosis", "message"),
    [
        (STALL, STANDS.message),
        (healthy(findings=(a_finding(Kind.UNSHARDED),)), "DataNotSharded: do something"),
        (
            healthy(stalled=STANDS, findings=(a_finding(Kind.UNSHARDED), a_finding())),
            STANDS.message,
        ),
        (healthy(), ""),
    ],
    ids=["a stall", "the gravest finding", "a stall before all findings", "all is well"],
)
def test_what_the_message_tells_first(diagnosis: Diagnosis, message: str) -> None:
    status = told(diagnosis)
    assert status.message == message
    running = fact(status, "Running")
    assert running is not None
    assert running.message == ""


def test_a_finding_is_told_with_its_ranks_and_since_when() -> None:
    status = told(STALL)
    (found,) = status.findings
    assert found.model_dump() == {
        "type": "Stalled",
        "ranks": "1",
        "message": "Stalled: do something",
        "line": "train.py:7",
        "since": NOW,
    }
    (rank,) = status.troubled_ranks
    assert rank.model_dump(exclude_none=True) == {
        "rank": 1,
        "pod": "mnist-worker-0",
        "node": "node-a",
        "stage": "stepping",
        "since": NOW,
        "line": "train.py:9",
        "step": 20,
    }


@pytest.mark.parametrize(
    ("finding", "since"),
    [
        (a_finding(message="in other words"), NOW),
        (a_finding(ranks=(1, 2)), at(60)),
        (a_finding(Kind.STRAGGLER), at(60)),
    ],
    ids=["other words", "other ranks", "another kind"],
)
def test_a_finding_keeps_its_time_while_it_is_of_the_same_ranks(finding: Any, since: Any) -> None:
    (found,) = told(healthy(findings=(finding,)), after=told(STALL), now=at(60)).findings
    assert found.since == since


@pytest.mark.parametrize(
    ("change", "since"),
    [
        ({"since": at(-0.4)}, NOW),
        ({"since": at(3), "line": "train.py:12", "step": 21}, NOW),
        ({"since": at(3), "stage": Stage.LEFT}, at(3)),
        ({"since": at(3), "pod": "another"}, at(3)),
    ],
    ids=["the same estimate again", "another line", "another stage", "another pod"],
)
def test_the_time_of_a_stage_does_not_tremble(change: dict[str, Any], since: Any) -> None:
    ranks = (a_rank(0), a_rank(1, **change))
    (rank,) = told(replace(STALL, ranks=ranks), after=told(STALL), now=at(60)).troubled_ranks
    assert rank.since == since


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        ("no step since 12:04Z: rank 1 stands at train.py:7", True),
        ("no step since 12:03:59Z: rank 1 stands at train.py:7", True),
        ("no step since 12:03Z: rank 1 stands at train.py:8", False),
        ("no step since 12:03Z: rank 1 stands", False),
    ],
)
def test_the_time_in_a_sentence_does_not_tremble(message: str, kept: bool) -> None:
    def stall(words: str) -> Diagnosis:
        stands = replace(STANDS, message=words)
        return healthy(stalled=stands, findings=(a_finding(message=words),))

    before = told(stall("no step since 12:03Z: rank 1 stands at train.py:7"))
    after = told(stall(message), after=before, now=at(60))
    assert (after == before) is kept
    assert kept or after.message == after.findings[0].message == message


def test_all_of_it_is_bounded_in_a_large_group() -> None:
    many = tuple(range(0, 10_000, 2))
    findings = tuple(
        a_finding(kind, many, message="word " * 1000, line="x" * 900) for kind in [*Kind] * 2
    )
    ranks = tuple(a_rank(rank, line="y" * 900, waits_in="z" * 900, node="n" * 253) for rank in many)
    stands = replace(STANDS, message="w " * 5000)
    status = told(healthy(findings=findings, ranks=ranks, stalled=stands))
    assert len(status.findings) == MAX_FINDINGS
    assert [rank.rank for rank in status.troubled_ranks] == list(many[:MAX_TROUBLED])
    assert max(len(found.message) for found in status.findings) == MAX_MESSAGE
    assert len(status.model_dump_json()) < 50_000
    assert Status.model_validate(status.model_dump(by_alias=True)) == status


def test_ranks_that_nobody_knows_are_not_in_the_list() -> None:
    status = told(healthy(findings=(a_finding(ranks=(1, 7)),)))
    assert [rank.rank for rank in status.troubled_ranks] == [1]
    assert status.findings[0].ranks == "1,7"


@pytest.mark.parametrize("base", [STALL, healthy()], ids=["stalled", "not yet"])
def test_a_job_that_makes_no_step_says_the_same_for_ever(base: Diagnosis) -> None:
    """Reports come, their times move, and the rate of what stands still decays."""
    before = told(base)
    for second in range(1, 60):
        ranks = tuple(a_rank(rank, since=at(second / 100)) for rank in range(3))
        slower = Headway(step=20, total=50, rate=1 / second, told=True)
        same = replace(base, ranks=ranks, headway=slower, look_again=at(300 + second))
        assert told(same, after=before, now=at(second)) == before


def test_no_condition_of_the_job_itself_is_one_of_an_attempt() -> None:
    own = report(a_job(), ALL, RUN, NOW)
    assert {item.type for item in own.conditions}.isdisjoint(conditions.OF_ATTEMPT)
