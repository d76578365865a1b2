"""The examples of every command's help, as far as they go without a cluster."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from trainingjobs.cli.app import COMMANDS, app
from trainingjobs.cli.commands import running
from trainingjobs.model.spec import Framework

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
    called = re.search(r"trainingjob ([^|)]+)", line)
    assert called is not None, line
    name, *args = shlex.split(called[1])
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


def test_examples_are_found_in_the_help_of_every_command() -> None:
    found = {name for name in COMMANDS for line in EXAMPLES if f"trainingjob {name} " in line}
    assert found == set(COMMANDS)
    assert any("--dry-run" in line for line in EXAMPLES)


LOADED = """
import contextlib, io, sys
from trainingjobs.cli.app import app
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    app.main([sys.argv[1], "--help"], prog_name="trainingjob")
print(sorted({"lightkube", "httpx2", "msgspec", "pydantic", "yaml"} & set(sys.modules)))
"""


@pytest.mark.parametrize("command", COMMANDS)
def test_help_waits_for_nothing_that_is_heavy(command: str) -> None:
    """Each of these libraries takes longer than all of the help."""
    program = [sys.executable, "-c", LOADED, command]
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_run_local_offers_every_framework_but_those_that_start_by_ssh() -> None:
    assert set(running.HERE) == set(Framework) - {Framework.MPI, Framework.HOROVOD}


@pytest.mark.parametrize("called", ["trainingjob", "kubectl tj"])
def test_help_names_the_program_as_it_was_called_this_time(called: str) -> None:
    help_ = CliRunner().invoke(app, ["stacks", "--help"], prog_name=called)
    assert f"  {called} stacks mnist" in help_.output
