"""One rank that all others wait for in each step, and groups that are only uneven."""

from typing import Any

import pytest

from builders import NOW, a_job
from diagnosis.given import a_report, kinds, looked_at
from trainingjobs.model.finding import Kind
from trainingjobs.model.job import TrainingJob
from trainingjobs.model.status import Status
from trainingjobs.model.training import Found


def paced(*seconds: float, rate: float = 1.0, **changes: Any) -> list[Any]:
    """Ranks that take so long for their own part of each step."""
    world = len(seconds)
    return [
        a_report(rank, world, own_seconds=own, rate=rate, **changes)
        for rank, own in enumerate(seconds)
    ]


GROUPS: dict[str, tuple[list[Any], tuple[int, ...]]] = {
    "one takes three times as long": (paced(0.2, 0.7, 0.2), (1,)),
    "of two the slow one": (paced(0.2, 0.7), (1,)),
    "the master": (paced(0.9, 0.2, 0.2, 0.2), (0,)),
    "two of five": (paced(0.2, 0.9, 0.2, 0.8, 0.2), (1, 3)),
    "none": (paced(0.2, 0.2, 0.2), ()),
    "twice as long is not much longer": (paced(0.3, 0.6, 0.3), ()),
    "a tenth of a second is not worth a word": (paced(0.01, 0.1, 0.01, rate=9), ()),
    "little of a step that takes long": (paced(0.2, 0.7, 0.2, rate=0.3), ()),
    "the first steps": (paced(0.2, 0.7, 0.2, steps=19), ()),
    "ranks that do not wait for each other": (
        paced(0.2, 0.7, 0.2, model={"exchange": "none"}, told={"wrapped": True}),
        (),
    ),
    "one rank alone": (paced(0.7), ()),
    "half of them": (paced(0.2, 0.7, 0.7, 0.2), (1, 2)),
    "most of them": (paced(0.2, 0.7, 0.7, 0.7), ()),
}


@pytest.mark.parametrize(("reports", "slow"), GROUPS.values(), ids=GROUPS)
def test_who_keeps_the_others_waiting(reports: list[Any], slow: tuple[int, ...]) -> None:
    found = looked_at(*reports, job=a_job(len(reports)))
    assert [one.ranks for one in found.findings] == [slow][: len(slow)]
    assert set(kinds(found)) <= {Kind.STRAGGLER}


def test_the_straggler_is_named_with_what_to_do() -> None:
    (finding,) = looked_at(*paced(0.2, 0.7, 0.2)).findings
    assert finding.message == (
        "rank 1 (mnist-worker-0 on node-a) takes 0.7 s a step for its own work before the "
        "exchange at train.py:41, the others 0.2 s, and all wait for it: look at what its node "
        "does besides"
    )


def test_a_slow_data_loader_is_named() -> None:
    fast, slow = paced(0.2, 0.2, 0.2, data_seconds=0.01), paced(0, 1.4, 0, data_seconds=1.3)
    (finding,) = looked_at(fast[0], slow[1], fast[2]).findings
    assert finding.line == "train.py:20"
    assert finding.message == (
        "rank 1 (mnist-worker-0 on node-a) takes 1 s a step for its data loader at train.py:20, "
        "the others 0.2 s, and all wait for it: look at its storage and at num_workers"
    )


def told(ranks: str) -> TrainingJob:
    """A job whose status names these stragglers."""
    found = Found(type=Kind.STRAGGLER.value, ranks=ranks, message="", since=NOW)
    return a_job(3, status=Status(findings=[found]))


def test_who_was_told_stays_told_at_the_border() -> None:
    near = paced(0.3, 0.55, 0.3)
    assert kinds(looked_at(*near)) == []
    assert kinds(looked_at(*near, job=told("1"))) == [Kind.STRAGGLER]
    assert kinds(looked_at(*paced(0.3, 0.44, 0.3), job=told("1"))) == []


def test_ranks_of_the_status_that_were_shortened_are_no_trouble() -> None:
    assert kinds(looked_at(*paced(0.2, 0.7, 0.2), job=told("1,3,…"))) == [Kind.STRAGGLER]
