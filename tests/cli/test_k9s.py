"""What k9s is told of TrainingJobs, held to the resource definition and the command line."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from trainingjobs.cli.app import app

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
(VERSION,) = yaml.safe_load((ROOT / "crds" / "trainingjob.yaml").read_text())["spec"]["versions"]
VIEWS = yaml.safe_load((DOCS / "k9s" / "views.yaml").read_text())["views"]
PLUGINS: dict[str, Any] = yaml.safe_load((DOCS / "k9s" / "plugins.yaml").read_text())["plugins"]
COLUMNS = VIEWS["trainingjob.dev/v1/trainingjobs"]["columns"]
COLUMN = re.compile(r"(?P<name>[A-Z]+)(?::(?P<path>[^|]+))?(?:\|(?P<how>[TNWHLR]+))?")
OWN = {"NAMESPACE", "NAME"}
"""Columns that k9s makes for every resource."""
SOME = {"$NAME": "mnist", "$NAMESPACE": "lab", "$CONTEXT": "here"}


def schema(path: str) -> Any:
    """What the resource definition says of a field."""
    found = VERSION["schema"]["openAPIV3Schema"]
    for name in path.removeprefix(".").split("."):
        found = found["properties"][name.removesuffix("[*]")]
        found = found["items"] if name.endswith("[*]") else found
    return found


@pytest.mark.parametrize("text", COLUMNS)
def test_every_column_is_one_of_the_resource(text: str) -> None:
    column = COLUMN.fullmatch(text)
    assert column is not None, text
    if column["path"]:
        assert schema(column["path"])["type"] in {"string", "integer", "number"}
    else:
        printed = {item["name"].upper() for item in VERSION["additionalPrinterColumns"]}
        assert column["name"] in printed | OWN


@pytest.mark.parametrize("text", COLUMNS)
def test_a_list_that_is_empty_takes_no_view_away(text: str) -> None:
    """k9s shows no job at all where it finds no first item of one: seen with 0.50.16."""
    assert not re.search(r"\[\d+\]", text)


def test_a_field_that_is_none_would_be_found() -> None:
    with pytest.raises(KeyError):
        schema(".status.training.stepz")


def test_no_column_is_left_out() -> None:
    named = {text.partition(":")[0].partition("|")[0] for text in COLUMNS}
    assert {item["name"].upper() for item in VERSION["additionalPrinterColumns"]} <= named
    (by, _) = VIEWS["trainingjob.dev/v1/trainingjobs"]["sortColumn"].split(":")
    assert by in named


@pytest.mark.parametrize("plugin", PLUGINS.values(), ids=PLUGINS)
def test_every_key_is_a_command_of_ours(plugin: Any) -> None:
    assert plugin["scopes"] == ["trainingjobs"]
    words = plugin["args"] if plugin["command"] == "kubectl" else in_a_shell(plugin["args"])
    assert words[0] == "tj"
    called = [SOME.get(word, word) for word in words[1:]]
    assert "$" not in "".join(called)
    shown = CliRunner().invoke(app, [*called, "--help"])
    assert (shown.exit_code, "Usage:" in shown.output) == (0, True)
    assert ("confirm" in plugin) == (called[0] in {"suspend", "resume"})


def in_a_shell(args: list[str]) -> list[str]:
    """The words of `kubectl tj …` in a line for a shell: names are quoted."""
    flag, line = args
    command, _, rest = line.partition(" 2>&1 | ")
    assert (flag, rest) == ("-c", "less")
    assert all(f'"{name}"' in command for name in SOME)
    program, *words = command.replace('"', "").split()
    assert program == "kubectl"
    return words


def test_no_key_is_used_twice_and_each_is_explained() -> None:
    keys = [plugin["shortCut"] for plugin in PLUGINS.values()]
    assert len(set(keys)) == len(keys)
    text = (DOCS / "k9s.md").read_text()
    assert [key for key in keys if f"`{key}`" not in text] == []
