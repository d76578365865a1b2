"""docs/cases.md names a test for each case, and each of these tests exists."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in (ROOT / "docs" / "cases.md").read_text().splitlines()
    if line.startswith("| ") and not line.startswith("| case ")
]
NAMED = sorted({name for *_, tests in ROWS for name in re.findall(r"`([^`]+)`", tests)})

OF_TRAINING = (
    "Names, rendezvous, environment",
    "Death, hang, restart",
    "Silent wrong training",
    "Resources and input of the pods",
    "Preemption and checkpoints",
    "Elastic Horovod",
    "What the cluster refuses",
)


@cache
def defined_in(path: str) -> frozenset[str]:
    """The names that a file of tests defines; a state machine is one by assignment."""
    nodes = ast.walk(ast.parse((ROOT / path).read_text()))
    functions = {
        node.name
        for node in nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name[:5] == "test_"
    }
    assigned = re.findall(r"^(test_\w+) = ", (ROOT / path).read_text(), re.MULTILINE)
    return frozenset(functions.union(assigned))


def test_there_are_cases() -> None:
    assert len(ROWS) >= 100
    assert len({case for case, *_ in ROWS}) == len(ROWS)


def test_every_case_of_those_who_train_is_there() -> None:
    """43 were gathered; an MPI launcher that starts too early stands under another heading."""
    sections = (ROOT / "docs" / "cases.md").read_text().split("\n## ")
    counted = {
        title: sum(line.startswith("| ") and not line.startswith("| case ") for line in lines)
        for title, *lines in (section.splitlines() for section in sections)
    }
    assert [counted[title] for title in OF_TRAINING] == [16, 10, 6, 4, 3, 1, 2]


@pytest.mark.parametrize("name", NAMED)
def test_a_named_test_exists(name: str) -> None:
    path, _, function = name.partition("::")
    assert function in defined_in(path)


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_a_case_without_a_test_says_why(row: list[str]) -> None:
    _, right, tests = row
    assert "`tests/" in tests or (tests == "none" and right.startswith("Not "))
