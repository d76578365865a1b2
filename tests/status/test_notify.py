"""Which moments are told, once each, and in which words."""

from dataclasses import replace
from typing import Any

import pytest

from builders import NOW, at
from status.told import ASKED, STALLS, a_told_job, over, stalls, stood
from trainingjobs.model.status import Phase, Status
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
        (ASKED, stood(), ("Stalled-1",)),
        (ASKED, stood(3, notified=["Stalled-2"]), ("Stalled-3",)),
        (ASKED, stood(notified=["Stalled-1"]), ()),
        (ASKED, stood(ended=at(-3700)), ()),
        (ASKED, stood(conditions=[STALLS]), ("Stalled-1", "Stalled-2")),
        ({**ASKED, "when": ["Finished"]}, stood(), ()),
        (ASKED, {**stood(), **over()}, ("Finished",)),
        ({**ASKED, "when": ["Stalled"]}, {**stood(), **over()}, ("Stalled-1",)),
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


def test_a_stall_that_ended_its_attempt_is_remembered_while_it_may_be_due() -> None:
    asked = stood(2, notified=["Finished", "Stalled-1", "Stalled-2"], conditions=[STALLS])
    job = a_told_job(**asked)
    status = notify.told(job.status, notify.due(job, NOW))
    assert status.notified == ["Finished", "Stalled-2", "Stalled-3"]
    assert notify.due(replace(job, status=status), NOW) == ()
    Status.model_validate_json(status.model_dump_json(by_alias=True))  # within its bounds


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("<!channel> a & b\n\x1b[2J", "&lt;!channel&gt; a &amp; b �[2J"),
        (
            "<@U123> @channel, (@all) jo@lab.example",
            "&lt;@|U123&gt; @|channel, (@|all) jo@|lab.example",
        ),
        ("[approve](https://evil.example)", "[approve]|(https:|//evil.example)"),
        ("![x](http://evil.example/x.png)", "![x]|(http:|//evil.example/x.png)"),
        (
            "see HTTPS://evil.example or Www.evil.example",
            "see HTTPS:|//evil.example or Www|.evil.example",
        ),
        ("<https://evil.example|here>", "&lt;https:|//evil.example|here&gt;"),
        ("~town-square", "~|town-square"),
        (
            "rank 1 at ~/train.py:17 in xs[0], a//b, 3.5 it/s",
            "rank 1 at ~/train.py:17 in xs[0], a//b, 3.5 it/s",
        ),
    ],
)
def test_words_for_slack_obey_nothing(words: str, text: str) -> None:
    job = a_told_job(**over(message=words))
    (said,) = notify.body(job, "Finished").values()
    assert said.replace("\u200b", "|") == f"lab/mnist has failed: {text}"


@pytest.mark.parametrize(
    ("status", "phase", "words"),
    [
        (stalls(2), "Running", "rank 1 stands at train.py:17"),
        (stood(2), "Restarting", "rank 1 stood at train.py:17"),
        (stood(2, conditions=[STALLS]), "Restarting", "rank 1 stood at train.py:17"),
        ({**stood(1), **stalls(2)}, "Running", "rank 1 stands at train.py:17"),
    ],
)
def test_words_for_programs(status: dict[str, Any], phase: str, words: str) -> None:
    job = a_told_job({**ASKED, "format": "JSON"}, **status)
    assert notify.body(job, "Stalled-2") == {
        "version": 1,
        "event": "Stalled",
        "namespace": "lab",
        "name": "mnist",
        "uid": job.uid,
        "attempt": 2,
        "phase": phase,
        "message": words,
    }


@pytest.mark.parametrize(
    ("moment", "status", "words"),
    [
        ("Finished", over(Phase.SUCCEEDED, message="all did"), "has succeeded: all did"),
        ("Stalled-1", stalls(), "has stalled: rank 1 stands at train.py:17"),
        ("Stalled-1", stood(), "has stalled: rank 1 stood at train.py:17"),
    ],
)
def test_words_for_people(moment: str, status: dict[str, Any], words: str) -> None:
    assert notify.body(a_told_job(**status), moment) == {"text": f"lab/mnist {words}"}
