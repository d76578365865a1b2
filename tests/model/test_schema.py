"""The committed resource definition is the models' own, and one that Kubernetes can take."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from trainingjobs.schema import files
from trainingjobs.schema.__main__ import main
from trainingjobs.schema.definition import definition

ROOT = Path(__file__).parents[2]
LARGEST = 200_000
SCHEMA = definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
FOREIGN = {"$ref", "$defs", "title", "anyOf", "oneOf", "allOf", "not", "nullable", "const"}


def nodes(schema: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """All schemas with their paths."""
    yield path, schema
    for name, child in schema.get("properties", {}).items():
        yield from nodes(child, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if key in schema:
            yield from nodes(schema[key], f"{path}[]")


NODES = dict(nodes(SCHEMA))


def test_the_committed_files_are_the_generated_ones() -> None:
    assert files.check(ROOT) == (), "run make generate"


def test_writing_and_checking_agree(tmp_path: Path) -> None:
    assert files.check(tmp_path) == (files.PLAIN, files.CHART, files.SERVICE)
    files.write_all(tmp_path)
    assert files.check(tmp_path) == ()
    (tmp_path / files.PLAIN).write_text("another")
    assert files.check(tmp_path) == (files.PLAIN,)


def test_small_enough_for_a_plain_apply() -> None:
    assert len(files.plain().encode()) < LARGEST
    assert len(json.dumps(definition())) < LARGEST


def test_the_text_reads_back_as_the_definition() -> None:
    assert yaml.safe_load(files.plain()) == json.loads(json.dumps(definition()))


def test_the_chart_installs_and_keeps_as_its_values_say() -> None:
    text = files.templated()
    assert text.startswith("{{- if .Values.crds.install }}\n")
    assert text.endswith("{{- end }}\n")
    kept = re.sub(r"\{\{-.*?\}\}", "", text)
    annotations = yaml.safe_load(kept)["metadata"]["annotations"]
    assert annotations == {"helm.sh/resource-policy": "keep"}


def test_braces_in_descriptions_are_no_template(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "plain", lambda: "a {{ b }}\n")
    assert '\na {{ "{{" }} b }}\n' in files.templated()


def test_every_field_says_what_it_means() -> None:
    named = [path for path in NODES if not path.endswith("[]") and path != ".metadata"]
    mute = [path for path in named if not NODES[path].get("description", "").endswith(".")]
    assert mute == []


def test_structural() -> None:
    for path, schema in NODES.items():
        assert not FOREIGN & set(schema), path
        free = "x-kubernetes-preserve-unknown-fields" in schema
        assert "type" in schema or free or "x-kubernetes-int-or-string" in schema, path
        assert schema.get("type") != "array" or ("items" in schema), path
        assert set(schema.get("required", ())) <= set(schema.get("properties", ())), path


def test_every_number_and_list_of_the_spec_has_an_end() -> None:
    for path, schema in NODES.items():
        if path.startswith(".spec") and schema.get("type") == "integer":
            assert {"minimum", "maximum"} <= set(schema), path
        if path.startswith(".spec") and schema.get("type") == "array":
            assert "maxItems" in schema, path


def test_a_status_has_no_defaults() -> None:
    assert [path for path in NODES if path.startswith(".status") and "default" in NODES[path]] == []


def test_every_rule_says_what_to_do() -> None:
    rules = [rule for node in NODES.values() for rule in node.get("x-kubernetes-validations", ())]
    assert len(rules) >= 20
    assert all(rule["message"] for rule in rules)


def test_the_command_writes_and_checks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for how, status in (("--check", 1), ("--write", 0), ("--check", 0)):
        monkeypatch.setattr("sys.argv", ["schema", how, str(tmp_path)])
        assert main() == status


def test_the_command_prints(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["schema"])
    assert main() == 0
    assert capsys.readouterr().out == files.plain()
