"""The examples of every command's help, as far as they go without a cluster."""

import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from trainingjobs.cli.app import COMMANDS, app

ROOT = Path(__file__).parents[2]
FILES = {
    "job.yaml": "examples/01-ddp/job.yaml",
    "train.py": "examples/01-ddp/train.py",
    "pytorchjob.yaml": "tests/convert/inputs/pytorchjob.yaml",
}
OFFLINE = {"explain", "convert", "completion"}


def examples() -> Iterator[str]:
    """Each line under a help's examples."""
    for name in COMMANDS:
        shown = CliRunner().invoke(app, [name, "--help"], prog_name="trainingjob").output
        lines = shown.partition("Examples:")[2].partition("\n\n")[0].splitlines()
        yield from (line.strip() for line in lines if line.strip())


EXAMPLES = list(examples())


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRAININGJOB_IMAGE", raising=False)
    monkeypatch.chdir(tmp_path)
    for name, real in FILES.items():
        (tmp_path / name).symlink_to(ROOT / real)


@pytest.mark.parametrize("line", EXAMPLES)
def test_an_example_works(line: str) -> None:
    program, name, *args = shlex.split(line.partition("|")[0])
    assert program in {"trainingjob", "source"}, line
    if program == "source":  # it has the command inside
        return
    parent = app.make_context("trainingjob", [name])
    command = app.get_command(parent, name)
    assert command is not None
    try:
        command.make_context(name, list(args), parent=parent)
    except click.ClickException as error:
        pytest.fail(f"{line}: {error.format_message()}")
    if name in OFFLINE or "--dry-run" in args:
        done = CliRunner().invoke(app, [name, *args])
        assert done.exit_code == 0, done.output
        assert done.stdout


def test_examples_are_found_in_the_help_of_many_commands() -> None:
    found = {line.split()[1] for line in EXAMPLES}
    assert {"submit", "list", "stacks", "doctor", "explain", "convert", "wait"} <= found
    assert any("--dry-run" in line for line in EXAMPLES)
