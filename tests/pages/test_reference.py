"""The generated pages of docs/ say what the code says, and each option and field is in them."""

from pathlib import Path

import click
import pytest

from trainingjobs.cli.app import COMMANDS, app
from trainingjobs.model.spec import Framework, Spec
from website import commands, pages, variables

ROOT = Path(__file__).parents[2]


def test_no_page_is_out_of_date() -> None:
    assert pages.outdated(ROOT) == (), "run make generate"


def test_a_page_that_was_edited_is_found(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "environment.md").write_text("# ours\n" + pages.between("", "old\n"))
    pages.write_all(tmp_path)
    assert pages.outdated(tmp_path) == ()
    page = tmp_path / "docs" / "fields.md"
    page.write_text(page.read_text().replace("PARALLEL_INSTANCES", "PODS", 1))
    assert pages.outdated(tmp_path) == (Path("docs/fields.md"),)
    assert (tmp_path / "docs" / "environment.md").read_text().startswith("# ours\n")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_of_a_command_is_told(name: str) -> None:
    part = commands.page().partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    command = app.get_command(click.Context(app), name)
    assert command is not None
    whole = {option.name for option in app.params}
    options = [it for it in command.params if isinstance(it, click.Option) and it.name not in whole]
    assert [it.opts for it in options if not it.hidden and it.opts[-1] not in part] == []


def test_every_field_of_the_spec_is_told() -> None:
    text = (ROOT / "docs" / "fields.md").read_text()
    names = [field.alias or name for name, field in Spec.model_fields.items()]
    assert [name for name in names if f"| `{name}` |" not in text] == []


@pytest.mark.parametrize("framework", Framework)
def test_the_variables_are_those_of_a_worker(framework: Framework) -> None:
    found = variables.of(framework)
    assert found["PARALLEL_INSTANCES"] == str(variables.INSTANCES)
    assert found["TRAININGJOB_ROLE"] == "worker"
