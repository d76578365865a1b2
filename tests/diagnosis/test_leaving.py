"""Ranks that leave: in the middle of others' work, in order, and with the door left open."""

from typing import Any

import pytest

from builders import NOW, a_pod, at, ended
from diagnosis.given import a_report, idle, kinds, long_ago, looked_at, waiting
from trainingjobs.model.finding import Kind
from trainingjobs.model.roll import Entry

PODS = [a_pod(0), ended(1, 0), a_pod(2)]


def left(rank: int, steps: int = 40, seconds: float = 15, **changes: Any) -> Entry:
    """A rank that ended so long ago, after so many steps."""
    end = {"stage": "ended", "destroyed": True, "steps": steps, "stage_seconds": 0, **changes}
    return long_ago(a_report(rank, **end), seconds)


EARLY: dict[str, tuple[list[Any], dict[str, Any], bool]] = {
    "the others wait in backward": (
        [waiting(0, 14, steps=40), waiting(2, 14, steps=40), left(1)],
        {"pods": PODS},
        True,
    ),
    "its pod goes on": ([waiting(0, 14, steps=40), waiting(2, 14, steps=40), left(1)], {}, True),
    "it left the group and goes on by itself": (
        [waiting(0, 14, steps=40), waiting(2, 14, steps=40), left(1, stage="left")],
        {},
        True,
    ),
    "the others do more steps": ([a_report(0), a_report(2), left(1)], {}, True),
    "a moment ago": (
        [waiting(0, 6, steps=40), waiting(2, 6, steps=40), left(1, seconds=7)],
        {},
        False,
    ),
    "the others pass through a collective": (
        [waiting(0, 0.3, steps=40), waiting(2, 0.3, steps=40), left(1)],
        {},
        False,
    ),
    "the master saves the model": ([idle(0, 14, steps=40), left(1), left(2)], {}, False),
    "the others leave too": (
        [
            left(0),
            waiting(2, 14, steps=40, stage="left", waits_in="destroy_process_group"),
            left(1),
        ],
        {},
        False,
    ),
    "replicas that never spoke to each other": (
        [
            a_report(0, model={"exchange": "none"}, told={"wrapped": True}),
            a_report(2, model={"exchange": "none"}),
            left(1),
        ],
        {},
        False,
    ),
    "it failed": (
        [waiting(0, 14, steps=40), waiting(2, 14, steps=40), left(1, error={"type": "ValueError"})],
        {},
        False,
    ),
    "its pod failed": (
        [waiting(0, 14, steps=40), waiting(2, 14, steps=40), left(1)],
        {"pods": [a_pod(0), ended(1, 1), a_pod(2)]},
        False,
    ),
    "all have left": ([left(0), left(1), left(2)], {}, False),
}


@pytest.mark.parametrize(("told", "others", "early"), EARLY.values(), ids=EARLY)
def test_a_rank_that_left_while_others_need_it(
    told: list[Any], others: dict[str, Any], early: bool
) -> None:
    assert (Kind.LEFT_EARLY in kinds(looked_at(*told, **others))) is early


def test_who_left_early_is_named_with_what_to_do() -> None:
    group = waiting(0, 14, steps=40), waiting(2, 14, steps=40), left(1)
    (finding,) = looked_at(*group, pods=PODS).findings
    assert (finding.ranks, finding.line) == ((1,), "train.py:20")
    assert finding.message == (
        "rank 1 (mnist-worker-0 on node-a) finished after 40 steps while ranks 0, 2 wait in "
        "backward at train.py:30: give each rank the same number of batches (DistributedSampler, "
        "drop_last) or use torch's Join"
    )


def test_the_next_look_is_when_the_patience_ends() -> None:
    group = waiting(0, 6, steps=40), waiting(2, 6, steps=40), left(1, seconds=7)
    assert looked_at(*group).look_again == at(3)
    assert kinds(looked_at(*group, now=at(3))) == [Kind.LEFT_EARLY]


UNDESTROYED: dict[str, tuple[list[Any], int, bool]] = {
    "never called": ([left(r, destroyed=False) for r in range(3)], 0, True),
    "called": ([left(r) for r in range(3)], 0, False),
    "there was no group": ([left(r, destroyed=None) for r in range(3)], 0, False),
    "it failed before it could": ([left(r, destroyed=False) for r in range(3)], 1, False),
}


@pytest.mark.parametrize(("told", "code", "careless"), UNDESTROYED.values(), ids=UNDESTROYED)
def test_a_group_that_is_left_standing(told: list[Any], code: int, careless: bool) -> None:
    found = looked_at(*told, pods=[ended(rank, code) for rank in range(3)])
    assert (Kind.UNDESTROYED in kinds(found)) is careless


def test_a_group_that_is_left_standing_is_told_with_what_to_do() -> None:
    group = left(0), left(1, destroyed=False), left(2)
    (finding,) = looked_at(*group, pods=[ended(rank, 0) for rank in range(3)]).findings
    assert finding.message == (
        "rank 1 has not called destroy_process_group: call it as the last line of the script, so "
        "that no rank breaks the others' connections"
    )
    assert at(1) > NOW
