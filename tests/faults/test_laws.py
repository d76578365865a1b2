"""The laws find what they are there to find: each is broken once, and nothing else is."""

from typing import Any

import pytest

from faults.laws import Body, Seen, violations
from trainingjobs.model import labels

SPEC = {"PARALLEL_INSTANCES": 2, "maxRestarts": 1}


def pod(version: int, rank: int, attempt: int = 1, *, uid: str = "", **more: Any) -> Seen:
    tags = {labels.RANK: str(rank), labels.ATTEMPT: str(attempt)}
    metadata = {"name": f"rank-{rank}", "uid": uid or f"{attempt}-{rank}", "labels": tags}
    status = {"phase": more.get("phase", "Running")}
    body = {"metadata": metadata, "status": status}
    return Seen(version=version, kind="Pod", type=more.get("type", "ADDED"), body=body)


def job(version: int, **status: Any) -> Seen:
    known = {"attempt": 1, "startTime": "t", "groupSize": 2, "instances": {"running": 2}}
    told: Body = {**known, **status}
    body = {"metadata": {"name": "job", "uid": "job"}, "status": told}
    return Seen(version=version, kind="TrainingJob", type="MODIFIED", body=body)


def service(version: int, uid: str) -> Seen:
    body = {"metadata": {"name": "job", "uid": uid}}
    return Seen(version=version, kind="Service", type="ADDED", body=body)


def group(version: int, uid: str) -> Seen:
    body = {"metadata": {"name": "job", "uid": uid}}
    return Seen(version=version, kind="PodGroup", type="ADDED", body=body)


GOOD = [
    service(1, "s"),
    group(1, "g"),
    pod(2, 0),
    pod(3, 1),
    job(4),
    pod(5, 0, phase="Failed", type="MODIFIED"),
    job(6, attempt=2, restarts=1),
    pod(7, 0, phase="Failed", type="DELETED"),
    pod(8, 1, type="DELETED"),
    pod(9, 0, 2),
    pod(10, 1, 2),
    job(11, attempt=2, restarts=1, phase="Succeeded"),
]


def test_a_good_life_breaks_no_law() -> None:
    assert violations(GOOD, SPEC) == []


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (pod(7, 0, 2), "two attempts live at once"),
        (pod(9, 1, 2, uid="other"), "two live pods of one rank"),
        (pod(10, 2, 2), "rank 2 is none of the group"),
        (pod(12, 0, 2, uid="late"), "made after the end"),
        (pod(4, 1, 2, phase="Failed"), "made for attempt 2, the status says 1"),
        (pod(10, 0, 2, uid="twin", phase="Failed"), "made twice within attempt 2"),
        (service(5, "t"), "a second service"),
        (group(5, "h"), "a second pod group"),
        (job(10, attempt=2, restarts=1, groupSize=1), "the group has 2 instances and then 1"),
        (job(10, attempt=1, restarts=1), "attempt goes back from 2 to 1"),
        (job(10, attempt=2, restarts=0), "restarts goes back from 1 to 0"),
        (job(10, attempt=2, restarts=2), "2 restarts are more than maxRestarts"),
        (job(10, attempt=2, restarts=1, instances={"running": 1}), "the counts do not add up"),
        (job(12, attempt=2, restarts=1, phase="Running"), "the final status changes: phase"),
    ],
    ids=lambda it: it if isinstance(it, str) else "",
)
def test_a_broken_law_is_found(wrong: Seen, words: str) -> None:
    assert any(words in found for found in violations([*GOOD, wrong], SPEC))


def test_what_the_scenario_deleted_may_be_made_again() -> None:
    again = pod(10, 0, 2, uid="again", phase="Failed")
    gone = pod(9, 0, 2, type="DELETED")
    story = [it for it in GOOD if it.version < 10] + [gone, again]
    assert violations(story, SPEC, taken={"2-0"}) == []


def test_a_group_of_another_size_is_another_attempt() -> None:
    told = {"attempt": 3, "restarts": 1, "groupSize": 3, "instances": {"missing": 3}}
    grown = [it for it in GOOD if it.version < 11] + [
        pod(11, 0, 2, type="DELETED"),
        pod(12, 1, 2, type="DELETED"),
        job(13, **told),
        *(pod(14 + rank, rank, 3) for rank in range(3)),
    ]
    assert violations(grown, SPEC) == []
    assert violations([*grown, pod(17, 3, 3)], SPEC) == [
        "at 17, ADDED Pod rank-3: rank 3 is none of the group"
    ]


def test_the_order_of_two_watches_does_not_matter() -> None:
    assert violations(list(reversed(GOOD)), SPEC) == []
