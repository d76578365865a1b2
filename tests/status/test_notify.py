"""Which moments are told, once each, and in which words."""

from dataclasses import replace
from typing import Any

import pytest

from builders import NOW, at
from status.told import ASKED, STALLS, a_told_job, over, stalls
from trainingjobs.model.status import Phase
from trainingjobs.status import notify


@pytest.mark.parametrize(
    ("asked", "status", "due"),
    [
        (None, over(), ()),
        (ASKED, {}, ()),
        (ASKED, over(), ("Finished",)),
        (ASKED, over(Phase.SUCCEEDED), ("Finished",)),
        (ASKED, over(notified=["Finished"]), ()),
        (ASKED, stalls(), ("Stalled-1",)),
        (ASKED, stalls(2, notified=["Stalled-1"]), ("Stalled-2",)),
        (ASKED, stalls(notified=["Stalled-1"]), ()),
        ({**ASKED, "when": ["Finished"]}, stalls(), ()),
        ({**ASKED, "when": ["Stalled"]}, over(), ()),
        (ASKED, over(conditions=[STALLS]), ("Finished",)),
        (ASKED, over(completion_time=at(-3700)), ()),
    ],
)
def test_what_is_due(asked: Any, status: dict[str, Any], due: tuple[str, ...]) -> None:
    assert notify.due(a_told_job(asked, **status), NOW) == due


def test_what_was_told_is_due_no_more_and_remembered_within_bounds() -> None:
    job = a_told_job(**stalls(3, notified=["Stalled-2"]))
    status = notify.told(job.status, notify.due(job, NOW))
    assert status.notified == ["Stalled-3"]
    assert notify.due(replace(job, status=status), NOW) == ()
    assert notify.told(status, ()) is status


def test_words_for_slack_obey_nothing() -> None:
    job = a_told_job(**over(message="<!channel> a & b\n\x1b[2J"))
    (text,) = notify.body(job, "Finished").values()
    assert text == "lab/mnist has failed: &lt;!channel&gt; a &amp; b �[2J"


def test_words_for_programs() -> None:
    job = a_told_job({**ASKED, "format": "JSON"}, **stalls(2))
    assert notify.body(job, "Stalled-2") == {
        "version": 1,
        "event": "Stalled",
        "namespace": "lab",
        "name": "mnist",
        "uid": job.uid,
        "attempt": 2,
        "phase": "Running",
        "message": "rank 1 stands at train.py:17",
    }


@pytest.mark.parametrize(
    ("moment", "status", "words"),
    [
        ("Finished", over(Phase.SUCCEEDED, message="all did"), "has succeeded: all did"),
        ("Stalled-1", stalls(), "has stalled: rank 1 stands at train.py:17"),
    ],
)
def test_words_for_people(moment: str, status: dict[str, Any], words: str) -> None:
    assert notify.body(a_told_job(**status), moment) == {"text": f"lab/mnist {words}"}
