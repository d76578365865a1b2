"""When the operator is well, and when only a restart mends it."""

from typing import Any

import pytest

from trainingjobs.handlers.health import (
    GRACE_SECONDS,
    LONGEST_WAIT,
    Ear,
    Health,
    Progress,
    Rounds,
)


def known(uid: str, version: int, namespace: str = "lab") -> dict[str, Any]:
    """What a list or a watch tells of an object."""
    identity = {"uid": uid, "namespace": namespace}
    return {"metadata": {**identity, "resourceVersion": str(version)}}


@pytest.mark.parametrize(
    ("told", "lists", "deaf"),
    [
        ([], [[known("a", 1)]], False),
        ([], [[known("a", 1)], [known("a", 1)]], True),
        ([], [[known("a", 1)], [known("a", 2)]], False),
        ([], [[known("a", 1)], [known("a", 1)], []], False),
        ([known("a", 1)], [[known("a", 1)], [known("a", 1)]], False),
        ([known("a", 1)], [[known("a", 2)], [known("a", 2)]], True),
        ([known("a", 3)], [[known("a", 2)], [known("a", 2)]], False),
        ([known("a", 10)], [[known("a", 9)], [known("a", 9)]], False),
    ],
    ids=[
        "one list proves nothing",
        "untold for two rounds",
        "untold, but another change",
        "gone again",
        "told",
        "a change is untold for two rounds",
        "told more than listed",
        "versions are numbers",
    ],
)
def test_when_a_watch_is_deaf(told: list[Any], lists: list[Any], deaf: bool) -> None:
    ear = Ear()
    for manifest in told:
        ear.hear(manifest)
    for listed in lists:
        ear.compare(listed)
    assert ear.deaf is deaf


def test_a_watch_that_tells_late_is_not_deaf() -> None:
    ear = Ear()
    ear.compare([known("a", 1)])
    ear.hear(known("a", 1))
    ear.compare([known("a", 1)])
    assert not ear.deaf


def test_a_namespace_that_was_not_listed_proves_nothing() -> None:
    ear = Ear()
    ear.hear(known("a", 1, "lab"))
    ear.hear(known("b", 1, "office"))
    for _ in range(3):
        ear.compare([known("b", 1, "office")], "office")
    ear.compare([known("a", 1, "lab")], "lab")
    ear.compare([known("a", 1, "lab")], "lab")
    assert not ear.deaf
    ear.compare([known("a", 2, "lab")], "lab")
    ear.compare([known("a", 2, "lab")], "lab")
    ear.compare([known("b", 1, "office")], "office")
    assert ear.deaf
    ear.hear(known("a", 2, "lab"))
    ear.compare([known("a", 2, "lab")], "lab")
    assert not ear.deaf


class Clock:
    """A time that the test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        """The time."""
        return self.now


def test_a_round_is_missed_when_three_of_its_periods_are_over() -> None:
    clock = Clock()
    rounds = Rounds(clock)
    assert rounds.missed() is None
    rounds.expect("jobs", 60.0)
    rounds.expect("children", 300.0)
    clock.now += 180.0
    assert rounds.missed() is None
    clock.now += 1.0
    assert rounds.missed() == "jobs: the last complete one was 181 s ago"
    rounds.done("jobs")
    assert rounds.missed() is None


def test_a_backlog_is_no_illness_while_anything_moves() -> None:
    clock = Clock()
    progress = Progress(clock)
    clock.now += LONGEST_WAIT + 1
    assert progress.stuck(1000.0) is None
    progress.begin()
    clock.now += LONGEST_WAIT + 1
    progress.answered("create")
    assert progress.stuck(1000.0) is None
    clock.now += LONGEST_WAIT + 1
    assert progress.stuck(1.0) is None
    assert progress.stuck(1000.0) == "a job has been waiting for 1000 s, and nothing moves"
    progress.answered("list")
    assert progress.stuck(1000.0)
    progress.made()
    assert progress.stuck(1000.0) is None


def test_nothing_is_remembered_of_what_is_gone() -> None:
    ear = Ear()
    ear.hear(known("a", 1))
    ear.hear(known("b", 1))
    ear.forget(known("a", 2))
    ear.compare([])
    assert not ear._told  # noqa: SLF001 - memory is what this is about


def test_only_a_lasting_complaint_is_hopeless() -> None:
    now, wrong = 100.0, "deaf"
    health = Health(lambda: now)
    health.checks["watch"] = lambda: wrong or None
    assert health.complaints() == ["watch: deaf"]
    now += GRACE_SECONDS - 1
    assert not health.hopeless()
    wrong = ""
    assert not health.complaints()
    wrong = "deaf"
    assert health.complaints()
    now += GRACE_SECONDS - 1
    assert not health.hopeless()
    now += 1
    assert health.hopeless() == ["watch: deaf"]
