"""A job at a glance, also one of which nothing is known yet."""

from typing import Any

import pytest

from builders import a_body
from trainingjobs.model import glance
from trainingjobs.model.status import Status


def test_a_job_without_a_status_has_a_row() -> None:
    row = glance.row(a_body())
    assert (row["namespace"], row["name"], row["instances"]) == ("lab", "mnist", 3)
    assert (row["phase"], row["stalled"], row["message"], row["findings"]) == (None, False, "", [])


def test_a_stall_is_seen() -> None:
    conditions = [{"type": "Stalled", "status": "True"}, {"type": "Running", "status": "True"}]
    assert glance.row({**a_body(), "status": {"conditions": conditions}})["stalled"]
    conditions[0]["status"] = "False"
    assert not glance.row({**a_body(), "status": {"conditions": conditions}})["stalled"]


def test_a_message_is_cut_and_can_be_read() -> None:
    row = glance.row({**a_body(), "status": {"message": "\x1b[31m" + "long " * 1_000}})
    assert len(row["message"]) <= 240
    assert row["message"].isprintable()


def test_no_template_is_told() -> None:
    head = glance.head(a_body(maxRestarts=5))
    assert head["spec"] == {"PARALLEL_INSTANCES": 3, "maxRestarts": 5}


@pytest.mark.parametrize(
    ("change", "another"),
    [
        ({"training": {"step": 2}, "progress": "2%", "ready": "2/3"}, False),
        ({"phase": "Failed"}, True),
        ({"attempt": 2}, True),
        ({"conditions": [{"type": "Stalled", "status": "True", "reason": "Stalled"}]}, True),
        ({"conditions": [{"type": "Stalled", "status": "False", "lastTransitionTime": 2}]}, False),
        ({"conditions": None}, True),
    ],
)
def test_what_happened_is_another_chapter_and_a_step_is_none(
    change: dict[str, Any], another: bool
) -> None:
    conditions = [{"type": "Stalled", "status": "False", "lastTransitionTime": 1}]
    body = {**a_body(), "status": {"phase": "Running", "attempt": 1, "conditions": conditions}}
    later = {**body, "status": {**body["status"], **change}}
    assert (glance.chapter(later) != glance.chapter(body)) is another
    assert glance.head(later)["chapter"] == glance.chapter(later)


def test_what_it_reads_is_in_the_status() -> None:
    known = {field.alias for field in Status.model_fields.values()}
    assert set(glance._STATUS) <= known  # noqa: SLF001
