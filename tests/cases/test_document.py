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


@pytest.mark.parametrize("name", NAMED)
def test_a_named_test_exists(name: str) -> None:
    path, _, function = name.partition("::")
    assert function in defined_in(path)


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_a_case_without_a_test_says_why(row: list[str]) -> None:
    _, right, tests = row
    assert "`tests/" in tests or (tests == "none" and right.startswith("Not "))
