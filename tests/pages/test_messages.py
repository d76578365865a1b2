"""Whatever word the code says as a reason has a heading in docs/messages.md."""

import re
from pathlib import Path

import pytest

from website import fields, reasons

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "messages.md").read_text(encoding="utf-8")
STATES = (ROOT / "docs" / "states.md").read_text(encoding="utf-8")
HEADINGS = " ".join(re.findall(r"^### (.*)$", PAGE, re.MULTILINE))
REASONS = reasons.all_of(ROOT)


def test_the_reasons_are_found() -> None:
    assert {"PodStuck", "NoStepsSeen", "RollCallOff", "CrashLoop", "PortInUse"} <= set(REASONS)


@pytest.mark.parametrize("reason", REASONS)
def test_every_reason_has_a_heading(reason: str) -> None:
    assert re.search(rf"\b{reason}\b", HEADINGS), f"no heading of docs/messages.md has {reason}"


def test_the_index_of_states_leaves_none_out() -> None:
    """That of the code alone, with the words of clusters that the code knows."""
    index = STATES.partition("<!-- generated: begin -->")[2]
    known = {"Unschedulable", "Evicted", "NodeLost", "UnexpectedAdmissionError", "Scaled"}
    assert {word for word in {*REASONS, *known} if f"[{word}](messages.md#" not in index} == set()


def test_every_reason_that_states_lists_has_a_heading() -> None:
    rows = re.findall(r"^\| ((?:[A-Z]\w+(?:, )?)+) \|", STATES, re.MULTILINE)
    listed = {word for row in rows for word in row.split(", ")}
    assert len(listed) > 30
    assert {word for word in listed if not re.search(rf"\b{word}\b", HEADINGS)} == set()


@pytest.mark.parametrize("message", fields.messages())
def test_every_refusal_is_explained(message: str) -> None:
    """Its own words, or those of a heading that stands for several."""
    headings = re.findall(r"^### (?:… )?(.*)$", PAGE, re.MULTILINE)
    parts = [part for heading in headings for part in heading.split(", ") if " " in part]
    assert [part for part in parts if part in message]


def test_every_heading_says_something() -> None:
    sections = re.split(r"^### .*$", PAGE, flags=re.MULTILINE)[1:]
    assert [part for part in sections if len(part.partition("\n## ")[0].strip()) < 10] == []
