"""When the operator is well, and when only a restart mends it."""

from typing import Any

import pytest

from trainingjobs.handlers.health import GRACE_SECONDS, Ear, Health


def known(uid: str, version: int) -> dict[str, Any]:
    """What a list or a watch tells of an object."""
    return {"metadata": {"uid": uid, "resourceVersion": str(version)}}


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
