"""What reaches a terminal, and how the command line is called."""

import io
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.given import HOSTILE
from trainingjobs import cli
from trainingjobs.cli import app, screen
from trainingjobs.cli.views import paint


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain  text\n", "plain text"),
        ("\x1b[31mred", r"\x1b[31mred"),
        (HOSTILE, r"\x1b[2J\x1b]0;owned\x07\u202eevil"),
        ("schön 日本", "schön 日本"),
        ("\x9b2J", r"\x9b2J"),
    ],
)
def test_nothing_that_a_terminal_obeys(text: str, shown: str) -> None:
    assert screen.safe(text) == shown


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/usr/bin/kubectl-tj", "kubectl tj"),
        ("kubectl-trainingjob", "kubectl trainingjob"),
        ("/opt/bin/trainingjob", "trainingjob"),
        ("/app/cli/__main__.py", "trainingjob"),
    ],
)
def test_the_program_has_the_name_that_people_type(path: str, name: str) -> None:
    assert cli.program(path) == name


@pytest.mark.parametrize("command", app.COMMANDS)
def test_every_command_has_help_of_its_own(command: str) -> None:
    shown = CliRunner().invoke(app.app, [command, "--help"], prog_name="kubectl tj")
    assert shown.exit_code == 0, shown.output
    parts = [shown.output.index(f"\n{it}:\n") for it in ("Examples", "Options", "Usage")]
    assert parts == sorted(parts), "in kubectl's order"
    assert shown.output.partition("\nUsage:\n")[2].startswith(f"  kubectl tj {command}")
    assert "{program}" not in shown.output


def test_the_help_lists_every_command_and_loads_none() -> None:
    code = (
        "import sys; sys.argv = ['trainingjob', '--help']\n"
        "from trainingjobs.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'lightkube', 'httpx2', 'pydantic', 'yaml', 'asyncio'} & set(sys.modules)\n"
        "print('loaded:', sorted(heavy))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "loaded: []" in done.stdout
    for name, (_, line) in app.COMMANDS.items():
        assert f"  {name} " in done.stdout
        assert line[:40] in done.stdout


def test_who_says_nothing_is_shown_the_help() -> None:
    said = CliRunner().invoke(app.app, [], prog_name="kubectl tj").output
    assert said == CliRunner().invoke(app.app, ["--help"], prog_name="kubectl tj").output


def test_the_documentation_has_every_command() -> None:
    text = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
    assert [
        name for name in app.COMMANDS if f"`{name}`" not in text and f"{name} " not in text
    ] == []


def test_what_is_missing_is_named() -> None:
    code = (
        "import sys; sys.modules['lightkube'] = None; sys.argv = ['trainingjob', 'list']\n"
        "from trainingjobs.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "error: lightkube is not installed: pip install 'trainingjobs[cli]'\n"


class Terminal(io.StringIO):
    """An output that somebody looks at."""

    def isatty(self) -> bool:
        """It is one."""
        return True


@pytest.mark.parametrize(
    ("env", "coloured"),
    [({}, True), ({"NO_COLOR": ""}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
)
def test_colours(monkeypatch: pytest.MonkeyPatch, env: dict[str, str], coloured: bool) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdout", Terminal())
    assert screen.coloured() is coloured
    screen.write(paint.phases(["NAME PHASE READY", "Failed Running 3/3"]))
    painted = "Failed \x1b[32mRunning\x1b[0m 3/3" if coloured else "Failed Running 3/3"
    assert sys.stdout.getvalue() == f"NAME PHASE READY\n{painted}\n"  # type: ignore[attr-defined]


def test_programs_get_no_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", io.StringIO())
    assert not screen.coloured()
