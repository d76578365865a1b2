"""What the operator may write into a status, and what a user may not."""

from collections.abc import Callable
from typing import Any

import pytest

from integration.jobs import Body, Jobs, a_job, changed
from trainingjobs.model.status import Status

pytestmark = pytest.mark.integration

Store = Callable[..., Body]

TIME = "2026-01-02T03:04:05Z"
FAILURE = {
    "rank": 1,
    "pod": "mnist-worker-0",
    "node": "node-a",
    "exitCode": 137,
    "reason": "OOMKilled",
    "message": "last line",
    "time": TIME,
    "victims": "0,2-7",
}
FOUND = {
    "type": "Stalled",
    "ranks": "1,3-7",
    "message": "rank 1 stands at train.py:7",
    "line": "train.py:7",
    "since": TIME,
}
CONDITION = {
    "type": "Running",
    "status": "True",
    "reason": "AllInstancesRun",
    "message": "all 3 instances run",
    "lastTransitionTime": TIME,
    "observedGeneration": 1,
}
FULL: Body = {
    "observedGeneration": 1,
    "phase": "Running",
    "message": "",
    "ready": "3/3",
    "progress": "40%",
    "training": {
        "step": 1200,
        "countedBy": "Script",
        "totalSteps": 3000,
        "stepsPerSecond": "3.2",
        "etaSeconds": 563,
        "epoch": "1.5",
        "metrics": {"loss": "0.0123", "val/acc": "NaN"},
    },
    "troubledRanks": [
        {
            "rank": 1,
            "pod": "mnist-worker-0",
            "node": "node-a",
            "stage": "stepping",
            "since": TIME,
            "line": "train.py:7",
            "waitsIn": "all_reduce",
            "step": 20,
        }
    ],
    "findings": [FOUND],
    "instances": {
        "missing": 0,
        "pending": 0,
        "starting": 0,
        "running": 3,
        "succeeded": 0,
        "failed": 0,
        "terminating": 0,
    },
    "replicas": 3,
    "selector": "trainingjob.dev/job-uid=1",
    "masterAddress": "mnist-master.mnist.default.svc.cluster.local:29500",
    "attempt": 2,
    "restarts": 1,
    "disruptions": 0,
    "groupSize": 3,
    "groupAsked": 4,
    "placementTimeouts": 1,
    "planHash": "0123456789abcdef",
    "startTime": TIME,
    "attemptStartTime": TIME,
    "startingSince": TIME,
    "runningTime": TIME,
    "partialSince": TIME,
    "nextAttemptTime": TIME,
    "completionTime": TIME,
    "goodput": {
        "queuedSeconds": 1,
        "startingSeconds": 2,
        "trainingSeconds": 87,
        "stalledSeconds": 4,
        "lostSeconds": 6,
        "ratio": "87%",
    },
    "accountedTime": TIME,
    "succeededRanks": "0,2-7",
    "failure": FAILURE,
    "attempts": [
        {
            "attempt": 1,
            "startTime": TIME,
            "endTime": TIME,
            "reason": "Failed",
            "failure": FAILURE,
            "step": 1300,
        }
    ],
    "notified": ["Finished"],
    "conditions": [CONDITION],
}
REFUSED = {
    "a foreign phase": ({"phase": "Happy"}, 'supported values: "Suspended", "Pending"'),
    "a negative count": ({"restarts": -1}, "greater than or equal to 0"),
    "a count as text": ({"replicas": "3"}, "must be of type integer"),
    "a time that is none": ({"startTime": "yesterday"}, "must be of type date-time"),
    "a condition twice": (
        {"conditions": [CONDITION, CONDITION]},
        'status.conditions[1]: Duplicate value: {"type":"Running"}',
    ),
    "a condition neither true nor false": (
        {"conditions": [{**CONDITION, "status": "Maybe"}]},
        'supported values: "True", "False", "Unknown"',
    ),
    "a condition without a reason": (
        {"conditions": [{"type": "A", "status": "True", "lastTransitionTime": TIME}]},
        "status.conditions[0].reason: Required value",
    ),
    "more findings than are told": (
        {"findings": [FOUND] * 11},
        "must have at most 10 items",
    ),
    "more metrics than are told": (
        {"training": {"step": 1, "metrics": {f"m{n}": "1" for n in range(17)}}},
        "status.training.metrics: Too many: 17: must have at most 16 items",
    ),
    "a metric that is a number": (
        {"training": {"step": 1, "metrics": {"loss": 0.5}}},
        "must be of type string",
    ),
    "more attempts than are kept": (
        {"attempts": [{"attempt": n, "endTime": TIME, "reason": "Failed"} for n in range(11)]},
        "must have at most 10 items",
    ),
}


def test_the_sample_is_the_whole_status() -> None:
    assert set(FULL) == set(Status.model_json_schema(by_alias=True)["properties"])


def test_a_full_status_is_kept_as_written(jobs: Jobs, stored: Store) -> None:
    job = stored()
    assert jobs.write_status(job, FULL).accepted
    assert jobs.read(job["metadata"]["name"])["status"] == FULL


def test_what_was_not_said_does_not_appear(jobs: Jobs, stored: Store) -> None:
    job = stored()
    assert jobs.write_status(job, {"phase": "Pending"}).body["status"] == {"phase": "Pending"}


def test_a_status_changes_no_generation(jobs: Jobs, stored: Store) -> None:
    job = stored()
    assert jobs.write_status(job, FULL).body["metadata"]["generation"] == 1


@pytest.mark.parametrize(("status", "words"), REFUSED.values(), ids=REFUSED)
def test_a_wrong_status_is_refused(jobs: Jobs, stored: Store, status: Any, words: str) -> None:
    assert words in jobs.write_status(stored(), status).message


def test_unknown_fields_of_a_status_are_pruned(jobs: Jobs, stored: Store) -> None:
    answer = jobs.write_status(stored(), {"phase": "Running", "mood": "good"})
    assert answer.body["status"] == {"phase": "Running"}


def test_a_user_writes_no_status(jobs: Jobs, stored: Store) -> None:
    assert "status" not in jobs.try_create({**a_job(), "status": FULL}).body
    answer = jobs.try_replace(changed(stored(), "status", FULL))
    assert answer.accepted
    assert "status" not in answer.body
