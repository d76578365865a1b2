"""Which steps of a job become events, and in which words."""

from typing import Any

import pytest

from builders import NOW
from trainingjobs.model.notice import Notice
from trainingjobs.model.status import Condition, Phase, Status
from trainingjobs.status.notices import notices


def a_status(phase: Phase, message: str = "", *, created: bool = True, **more: Any) -> Status:
    facts = [
        Condition(
            type="PodsCreated",
            status="True" if created else "False",
            reason="x",
            last_transition_time=NOW,
        ),
        Condition(type="Running", status="False", reason="Why", last_transition_time=NOW),
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
