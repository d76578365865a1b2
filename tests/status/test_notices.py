"""Which steps of a job become events, and in which words."""

from typing import Any

import pytest

from builders import NOW, a_job, a_pod, at, seen
from status.given import STANDS, a_finding, healthy, joining, told
from trainingjobs.model.finding import Diagnosis, Fact, Kind
from trainingjobs.model.notice import Notice
from trainingjobs.model.status import Condition, Phase, Status
from trainingjobs.model.verdict import Step, Verdict
from trainingjobs.status.notices import notices
from trainingjobs.status.report import report


def a_status(phase: Phase, message: str = "", *, created: bool = True, **more: Any) -> Status:
    facts = [
        Condition(
            type="PodsCreated",
            status="True" if created else "False",
            reason="x",
            last_transition_time=NOW,
        ),
        Condition(
            type="Running", status="False", reason="Why", message=message, last_transition_time=NOW
        ),
    ]
    known = {"phase": phase, "message": message, "ready": "3/3", "attempt": 1, "conditions": facts}
    return Status(**{**known, **more})


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(
            Status(),
            a_status(Phase.PENDING),
            [("Normal", "PodsCreated", "created all 3 pods of attempt 1")],
            id="all pods are there",
        ),
        pytest.param(
            a_status(Phase.STARTING),
            a_status(Phase.RUNNING),
            [("Normal", "Running", "3/3 instances run in attempt 1")],
            id="the group runs",
        ),
        pytest.param(
            a_status(Phase.RUNNING),
            a_status(Phase.RESTARTING, "rank 1 fell", created=False, attempt=2),
            [("Warning", "Restarting", "rank 1 fell")],
            id="the group restarts, with its cause",
        ),
        pytest.param(
            a_status(Phase.RUNNING),
            a_status(Phase.FAILED, "rank 1 fell for good"),
            [("Warning", "Failed", "rank 1 fell for good")],
            id="the job fails",
        ),
        pytest.param(
            a_status(Phase.RUNNING),
            a_status(Phase.SUCCEEDED, "all 3 instances succeeded"),
            [("Normal", "Succeeded", "all 3 instances succeeded")],
            id="the job succeeds",
        ),
        pytest.param(
            a_status(Phase.PENDING),
            a_status(Phase.PENDING, "no node has room"),
            [("Warning", "Why", "no node has room")],
            id="a wait gets its reason",
        ),
        pytest.param(
            a_status(Phase.PENDING, "no node has room"),
            a_status(Phase.PENDING, "no node has room"),
            [],
            id="the same wait is told once",
        ),
        pytest.param(a_status(Phase.RUNNING), a_status(Phase.RUNNING), [], id="nothing new"),
        pytest.param(
            a_status(Phase.RESTARTING, "rank 1 fell", created=False, attempt=2),
            a_status(Phase.RESTARTING, "it backs off", created=False, attempt=2),
            [],
            id="one restart is one event",
        ),
    ],
)
def test_steps_become_events(
    old: Status, new: Status, expected: list[tuple[str, str, str]]
) -> None:
    told = [(item.type, item.reason, item.message) for item in notices(old, new)]
    assert told == expected
    assert all(isinstance(item, Notice) for item in notices(old, new))


def said(old: Status, new: Status) -> list[tuple[str, str, str]]:
    return [(item.type, item.reason, item.message) for item in notices(old, new)]


JOINS = joining()
MISSES = joining(findings=(a_finding(Kind.MISSING),))
STALL = healthy(stalled=STANDS, findings=(a_finding(),))
UNSHARDED = a_finding(Kind.UNSHARDED)
RESTART = Verdict(step=Step.RESTART, reason="Stalled", message="rank 1 stands")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(
            JOINS,
            healthy(),
            [
                ("Normal", "Running", "3/3 instances run in attempt 1"),
                ("Normal", "Registered", "all 3 ranks joined, 4 s after the start of the attempt"),
            ],
            id="all have joined",
        ),
        pytest.param(
            JOINS,
            MISSES,
            [("Warning", "RanksMissing", "RanksMissing: do something")],
            id="ranks are missing",
        ),
        pytest.param(healthy(), healthy(), [], id="nothing new"),
        pytest.param(
            healthy(), STALL, [("Warning", "Stalled", "rank 1 stands at train.py:7")], id="a stall"
        ),
        pytest.param(
            STALL, healthy(stalled=Fact(truth=True, reason="Stalled", message="anew")), [], id="one"
        ),
        pytest.param(
            STALL, healthy(), [("Normal", "StepsAgain", "the ranks step again")], id="it goes on"
        ),
        pytest.param(
            STALL, healthy(stalled=Fact(truth=False, reason="Finished")), [], id="all have ended"
        ),
        pytest.param(
            STALL, healthy(stalled=Fact(truth=None, reason="NothingHeard")), [], id="mute"
        ),
        pytest.param(
            STALL,
            healthy(stalled=STANDS, findings=(a_finding(), UNSHARDED)),
            [("Warning", "DataNotSharded", "DataNotSharded: do something")],
            id="a finding",
        ),
        pytest.param(
            healthy(findings=(UNSHARDED,)),
            healthy(findings=(a_finding(Kind.UNSHARDED, (0, 1)), a_finding(Kind.UNSHARDED, (2,)))),
            [],
            id="a kind is told once",
        ),
        pytest.param(healthy(findings=(UNSHARDED,)), healthy(), [], id="it is well again"),
    ],
)
def test_what_the_roll_call_finds_becomes_events(
    old: Diagnosis, new: Diagnosis, expected: list[tuple[str, str, str]]
) -> None:
    before = told(old)
    assert said(before, told(new, after=before, now=at(4))) == expected


def test_a_restart_after_a_stall_is_one_event_and_the_next_attempt_registers_anew() -> None:
    stalled = told(STALL)
    again = told(STALL, after=stalled, now=at(60), verdict=RESTART)
    assert said(stalled, again) == [("Warning", "Restarting", "rank 1 stands")]
    there = seen(*(a_pod(rank, attempt=2) for rank in range(3)))
    whole = report(a_job(status=again), there, Verdict(step=Step.RUN), at(70), healthy())
    assert ("Normal", "Registered") in [told[:2] for told in said(again, whole)]


def test_an_operator_that_starts_anew_tells_nothing_again() -> None:
    before = told(STALL)
    silent = told(Diagnosis(), after=before, now=at(60))
    assert said(before, silent) == said(silent, told(STALL, after=silent, now=at(70))) == []
