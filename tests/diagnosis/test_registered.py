"""Who has joined, who is missing, and why: each row is a group that users have waited for."""

from typing import Any

import pytest

from builders import a_job, a_pod, at, ended, pending, starting
from diagnosis.given import (
    a_report,
    an_entry,
    joined,
    joining,
    kinds,
    long_ago,
    looked_at,
    spawned,
)
from trainingjobs.diagnosis.registered import ALL_JOINED, JOINING, NO_GROUP, NOBODY
from trainingjobs.model.finding import Kind
from trainingjobs.model.roll import Entry

WORDS = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."
ONE = "rank 1 (mnist-worker-0 on node-a)"
LATE = 40
TOO_LATE = 150
"""Seconds in init_process_group: longer than others are waited for without a word."""

MISSING: dict[str, tuple[list[Any], dict[str, Any], str]] = {
    "a rank sleeps before init": (
        [joining(0, LATE), joining(2, LATE), spawned(1)],
        {},
        (f"2 of 3 ranks joined, missing 1: {ONE} stands at train.py:7 in load_data"),
    ),
    "a rank reads data before init": (
        [joining(0, LATE), joining(2, LATE), spawned(1, 9, "<module>")],
        {},
        f"2 of 3 ranks joined, missing 1: {ONE} stands at train.py:9",
    ),
    "the scheduler has no room for a rank": (
        [joining(0, LATE), joining(2, LATE)],
        {"pods": [a_pod(0), pending(1, words=WORDS), a_pod(2)]},
        "2 of 3 ranks joined, missing 1: rank 1 (mnist-worker-0) cannot be scheduled: " + WORDS,
    ),
    "an image cannot be pulled": (
        [joining(0, LATE), joining(2, LATE)],
        {"pods": [a_pod(0), starting(1, reason="ErrImagePull", message="not found"), a_pod(2)]},
        (f"2 of 3 ranks joined, missing 1: {ONE} waits, ErrImagePull: not found"),
    ),
    "a pod starts": (
        [joining(0, LATE), joining(2, LATE)],
        {"pods": [a_pod(0), starting(1), a_pod(2)]},
        f"2 of 3 ranks joined, missing 1: {ONE} is starting",
    ),
    "a pod is being deleted": (
        [joining(0, LATE), joining(2, LATE), spawned(1)],
        {"pods": [a_pod(0), a_pod(1, deletion_requested=at(-1)), a_pod(2)]},
        f"2 of 3 ranks joined, missing 1: {ONE} is being deleted",
    ),
    "a pod has no node": (
        [joining(0, LATE), joining(2, LATE)],
        {"pods": [a_pod(0), pending(1), a_pod(2)]},
        "2 of 3 ranks joined, missing 1: rank 1 (mnist-worker-0) has no node yet",
    ),
    "a pod was never made": (
        [joining(0, LATE), joining(2, LATE)],
        {"pods": [a_pod(0), a_pod(2)]},
        "2 of 3 ranks joined, missing 1: rank 1 (mnist-worker-0) has no pod",
    ),
    "a rank crashed before init": (
        [joining(0, LATE), joining(2, LATE), spawned(1, stage="ended")],
        {"pods": [a_pod(0), ended(1, 3), a_pod(2)]},
        (f"2 of 3 ranks joined, missing 1: {ONE} ended with code 3 and had not joined"),
    ),
    "a script ended before init and its pod goes on": (
        [joining(0, LATE), joining(2, LATE), spawned(1, stage="ended")],
        {},
        (f"2 of 3 ranks joined, missing 1: {ONE} ended and had not joined"),
    ),
    "nothing is heard of a rank that runs": (
        [joining(0, LATE), joining(2, LATE)],
        {},
        (
            f"2 of 3 ranks joined, missing 1: {ONE} runs and is not heard "
            "of: it has not imported torch, or its reports do not arrive"
        ),
    ),
    "a rank was stopped before init": (
        [joining(0, LATE), joining(2, LATE), long_ago(spawned(1), 60)],
        {},
        (
            f"2 of 3 ranks joined, missing 1: {ONE} is silent since "
            "11:59:00Z, last at train.py:7 in load_data"
        ),
    ),
    "a rank trains without the group": (
        [joining(0, LATE), joining(2, LATE), spawned(1, stage="stepping", steps=3)],
        {},
        (
            f"2 of 3 ranks joined, missing 1: {ONE} trains without a "
            "process group at train.py:7 in load_data"
        ),
    ),
    "three of eight stand at the same line": (
        [
            *(joining(rank, LATE, world=8) for rank in (0, 1, 2, 4, 7)),
            *(spawned(rank, world=8) for rank in (3, 5, 6)),
        ],
        {"job": a_job(8)},
        (
            "5 of 8 ranks joined, missing 3, 5-6: ranks 3, 5-6 (mnist-worker-2 on node-a and "
            "2 more "
            "pods) each stands at train.py:7 in load_data"
        ),
    ),
    "workers cannot reach the master": (
        [joining(0, TOO_LATE), joining(1, TOO_LATE), joining(2, TOO_LATE)],
        {},
        (
            "ranks 1-2 (mnist-worker-0 on node-a and 1 more pods) are in init_process_group at "
            "train.py:5 since 11:57Z and cannot resolve or reach mnist-master.mnist:29500, "
            "or another "
            "rank: look at NetworkPolicies, sidecars and GLOO_SOCKET_IFNAME"
        ),
    ),
    "one worker cannot reach the master": (
        [joined(0, TOO_LATE), joined(2, TOO_LATE), joining(1, TOO_LATE)],
        {},
        (
            f"{ONE} is in init_process_group at train.py:5 since 11:57Z "
            "and cannot resolve or reach mnist-master.mnist:29500, or another rank: look at "
            "NetworkPolicies, sidecars and GLOO_SOCKET_IFNAME"
        ),
    ),
    "each pod makes a group of its own": (
        [
            an_entry(joined(0, LATE, world_size=1, process=f"p{instance}"), instance)
            for instance in range(3)
        ],
        {},
        (
            "ranks 0-2 (mnist-master on node-a and 2 more pods) each joined a process group "
            "of 1, not "
            "of 3: let init_process_group at train.py:5 take rank and world size from the "
            "environment"
        ),
    ),
}


@pytest.mark.parametrize(("told", "others", "words"), MISSING.values(), ids=MISSING)
def test_the_missing_rank_is_named_and_why(
    told: list[Any], others: dict[str, Any], words: str
) -> None:
    found = looked_at(*told, **others)
    assert found.registered is not None
    assert (found.registered.truth, found.registered.reason) == (False, Kind.MISSING)
    assert found.registered.message == words
    assert [(one.kind, one.message) for one in found.findings] == [(Kind.MISSING, words)]


def test_the_condition_speaks_at_once_and_the_finding_when_it_lasts() -> None:
    found = looked_at(joining(0, 10), joining(2, 4), spawned(1))
    assert found.registered is not None
    assert found.registered.reason == Kind.MISSING
    assert kinds(found) == []


def test_the_finding_names_ranks_and_their_line() -> None:
    (finding,) = looked_at(joining(0, LATE), joining(2, LATE), spawned(1)).findings
    assert finding.ranks == (1,)
    assert finding.line == "train.py:7"


def young(rank: int) -> Entry:
    """A process that was first heard of a minute ago."""
    return an_entry(spawned(rank), first=at(-60))


KNOWN: dict[str, tuple[list[Any], dict[str, Any], tuple[bool | None, str] | None]] = {
    "all ranks step": ([a_report(0), a_report(1), a_report(2)], {}, (True, ALL_JOINED)),
    "all ranks joined": ([joined(0), joined(1), joined(2)], {}, (True, ALL_JOINED)),
    "all have come and it takes a moment": (
        [joining(0, 5), joining(1, 3), joining(2, 1)],
        {},
        (False, JOINING),
    ),
    "all have come and a busy machine takes its time": (
        [joining(0, 80), joining(1, 75), joining(2, 70)],
        {},
        (False, JOINING),
    ),
    "nobody has come yet": ([young(0), young(1)], {}, (False, NOBODY)),
    "nobody has come for long": ([spawned(0), spawned(1)], {}, (None, NO_GROUP)),
    "one pod does not run yet": (
        [spawned(0), spawned(1)],
        {"pods": [a_pod(0), a_pod(1), pending(2)]},
        None,
    ),
    "nobody has ever reported": ([], {}, None),
    "all train without a group": (
        [spawned(rank, stage="stepping", steps=3) for rank in range(3)],
        {},
        (None, NO_GROUP),
    ),
    "a framework without process groups": (
        [spawned(0), spawned(1), spawned(2)],
        {"job": a_job(3, framework="TensorFlow")},
        None,
    ),
    "a job of one that needs no group": ([spawned(0, world=1)], {"job": a_job(1)}, None),
    "a job of one that made one": ([joined(0, world=1)], {"job": a_job(1)}, (True, ALL_JOINED)),
    "torchrun was told to start two in each pod": (
        [
            an_entry(joined(rank, world=6, world_size=6, process=f"p{rank}"), rank // 2)
            for rank in range(6)
        ],
        {},
        (True, ALL_JOINED),
    ),
    "one of those six is missing": (
        [an_entry(joining(rank, world=6, process=f"p{rank}"), rank // 2) for rank in range(5)],
        {},
        (False, Kind.MISSING),
    ),
    "a script makes one group member of each pod of four": (
        [an_entry(joined(rank, world=3), rank) for rank in range(3)],
        {"job": a_job(3, processesPerInstance=4)},
        (True, ALL_JOINED),
    ),
    "one of four ranks has joined a group of two": (
        [
            *(
                an_entry(joined(rank, world=4, world_size=4, process=f"p{rank}"), rank // 2)
                for rank in range(3)
            ),
            an_entry(joined(1, world_size=2, process="p3"), 1),
        ],
        {"job": a_job(2, processesPerInstance=2)},
        (False, Kind.MISSING),
    ),
    "the reports of one node are blocked and its ranks train": (
        [a_report(1), a_report(2)],
        {},
        (True, ALL_JOINED),
    ),
    "the master came through and others are not heard of": ([joined(0)], {}, (True, ALL_JOINED)),
    "a worker came through before the others were there": (
        [joined(1), joining(0, 3)],
        {},
        (False, Kind.MISSING),
    ),
    "a rank fell silent while it joined and the group trains": (
        [a_report(0), a_report(2), long_ago(joining(1), 300)],
        {},
        (True, ALL_JOINED),
    ),
    "a rank has left in order": (
        [a_report(0), a_report(1), a_report(2, stage="ended", destroyed=True)],
        {},
        (True, ALL_JOINED),
    ),
}


@pytest.mark.parametrize(("told", "others", "known"), KNOWN.values(), ids=KNOWN)
def test_what_is_known_of_the_group(
    told: list[Any], others: dict[str, Any], known: tuple[bool | None, str] | None
) -> None:
    fact = looked_at(*told, **others).registered
    assert (fact and (fact.truth, fact.reason)) == known


def test_ranks_that_cannot_be_heard_are_not_said_to_be_missing() -> None:
    found = looked_at(a_report(1), a_report(2))
    assert found.registered is not None
    assert found.registered.message == "all 3 ranks joined, though rank 0 cannot be heard"
    assert kinds(found) == []
