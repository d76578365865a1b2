"""The shape of the code: small files, small functions, and a reason for each module to exist."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("operator", "localcluster", "tests", "examples", "images", "benchmarks", "website")
MAX_FILE = 250
MAX_FUNCTION = 40
MIN_DOCSTRING = 30
TABLES = {"tests"}
"""Folders whose files are tables of cases: they may be longer, their functions may not."""

FILES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_there_is_code() -> None:
    assert len(FILES) > 40


@pytest.mark.parametrize("path", FILES, ids=name)
def test_a_module_is_small_and_says_why_it_exists(path: Path) -> None:
    text = path.read_text()
    tree = ast.parse(text)
    assert len(ast.get_docstring(tree) or "") >= MIN_DOCSTRING, "no docstring that says why"
    lines = len(text.splitlines())
    assert lines <= MAX_FILE or path.relative_to(ROOT).parts[0] in TABLES, f"{lines} lines"
    long = {node.name: size(node) for node in functions(tree) if size(node) > MAX_FUNCTION}
    assert not long


def size(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def test_the_source_root_is_no_package() -> None:
    """A package named operator would hide the standard library's and stop the interpreter."""
    assert not list((ROOT / "operator").glob("*.py"))


def test_the_readme_is_a_screen_and_a_half() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 90


SCRIPTS = sorted((ROOT / "operator/trainingjobs/handlers/page/static").iterdir())


@pytest.mark.parametrize("path", SCRIPTS, ids=name)
def test_a_file_of_the_page_is_small_and_says_why_it_exists(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= MAX_FILE
    assert path.suffix != ".js" or lines[0].startswith("// ")
