"""Whatever word the operator says as a reason has a heading in docs/messages.md, found in the code.

The words are the texts of the code that look like a reason: two words or more in one, each with a
capital. What looks so and is none is listed here, so a new reason cannot be forgotten.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from trainingjobs.model.finding import Kind
from trainingjobs.model.observed import Trouble
from trainingjobs.model.status import Phase
from trainingjobs.plan import hints
from website import fields

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "messages.md").read_text(encoding="utf-8")
STATES = (ROOT / "docs" / "states.md").read_text(encoding="utf-8")
HEADINGS = " ".join(re.findall(r"^### (.*)$", PAGE, re.MULTILINE))
CODE = ROOT / "operator" / "trainingjobs"
FOLDERS = ("plan", "status", "diagnosis", "cluster", "reconcile.py", "model/observed.py")
WORD = re.compile(r"[A-Z][a-z]+(?:[A-Z][a-z]+)+\Z")
NO_REASONS = {
    *("ConfigMap", "TokenReview", "SubjectAccessReview", "PodScheduled", "DisruptionTarget"),  # API
    *("ContainerCreating", "PodInitializing", "RestartAllContainers", "AlreadyExists", "NotIn"),
    *("OnFailure", "ErrImagePull", "ImagePullBackOff"),  # said as ImagePullFailed
    *("FallbackToLogsOnError", "ClusterFirstWithHostNet", "PipelineStage"),
    *("OutOf", "ValidatingAdmissionPolicy"),
}


def texts() -> Iterator[str]:
    """All texts in the code that decides and tells."""
    for folder in FOLDERS:
        place = CODE / folder
        for path in [place] if place.is_file() else sorted(place.glob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield node.value


REASONS = sorted(
    {text for text in texts() if WORD.match(text)} - NO_REASONS
    | {*Kind, *Trouble, *Phase}
    | {hint.name for hint in hints.HINTS}
    | {"MasterLeft", "UnevenInputs"}
)


def test_the_reasons_are_found() -> None:
    assert {"PodStuck", "NoStepsSeen", "RollCallOff", "CrashLoop", "PortInUse"} <= set(REASONS)


@pytest.mark.parametrize("reason", REASONS)
def test_every_reason_has_a_heading(reason: str) -> None:
    assert re.search(rf"\b{reason}\b", HEADINGS), f"no heading of docs/messages.md has {reason}"


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
