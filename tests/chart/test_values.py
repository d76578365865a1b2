"""The values: a typo is refused with its name, and what may be set is described."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from chart.rendering import CHART, NAME, Helm, Values

pytestmark = pytest.mark.integration

SCHEMA = json.loads((CHART / "values.schema.json").read_text())
VALUES = (CHART / "values.yaml").read_text()


def leaves(values: dict[str, Any], schema: dict[str, Any], before: str = "") -> Iterator[str]:
    """The dotted names of all values; what is a Kubernetes object is one value."""
    for name, value in values.items():
        own = schema["properties"][name]
        if value and "properties" in own:
            yield from leaves(value, own, f"{before}{name}.")
        else:
            yield before + name


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"replicas": 2}, "replicas"),
        ({"image": {"tags": "1"}}, "tags"),
        ({"crds": {"enabled": False}}, "enabled"),
        ({"operator": {"loglevel": "INFO"}}, "loglevel"),
        ({"rbac": {"aggregated": True}}, "aggregated"),
        ({"serviceAccount": {"automount": True}}, "automount"),
        ({"resources": {"limit": {}}}, "limit"),
        ({"affinity": {"node": {}}}, "node"),
        ({"metrics": {"enabled": True}}, "enabled"),
        ({"metrics": {"service": {"ports": 1}}}, "ports"),
        ({"metrics": {"serviceMonitor": {"period": "1m"}}}, "period"),
        ({"metrics": {"alerts": {"rules": []}}}, "rules"),
        ({"metrics": {"dashboard": {"folder": "a"}}}, "folder"),
        ({"networkPolicy": {"ingress": []}}, "ingress"),
        ({"networkPolicy": {"from": [{"pods": {}}]}}, "pods"),
        ({"networkPolicy": {"egress": [{"from": []}]}}, "from"),
        ({"podDisruptionBudget": {"minAvailable": 1}}, "minAvailable"),
        ({"imagePullSecrets": [{"secret": "a"}]}, "secret"),
        ({"rollCall": {"enable": False}}, "enable"),
    ],
    ids=lambda case: case if isinstance(case, str) else "",
)
def test_an_unknown_value_is_named(helm: Helm, values: Values, told: str) -> None:
    result = helm.run("template", NAME, str(CHART), values=values)
    assert result.returncode != 0
    assert f"additional properties '{told}' not allowed" in result.stderr


@pytest.mark.parametrize(
    ("values", "place"),
    [
        ({"namespaces": ["Team_A"]}, "/namespaces/0"),
        ({"namespaces": "team-a"}, "/namespaces"),
        ({"namespaces": ["a", "a"]}, "/namespaces"),
        ({"image": {"digest": "0123"}}, "/image/digest"),
        ({"image": {"repository": ""}}, "/image/repository"),
        ({"image": {"tag": 1.2}}, "/image/tag"),
        ({"image": {"pullPolicy": "always"}}, "/image/pullPolicy"),
        ({"operator": {"parallelWrites": 0}}, "/operator/parallelWrites"),
        ({"operator": {"resyncSeconds": 0}}, "/operator/resyncSeconds"),
        ({"operator": {"logFormat": "xml"}}, "/operator/logFormat"),
        ({"rollCall": {"port": 8080}}, "/rollCall/port"),
        ({"rollCall": {"url": "reports.example"}}, "/rollCall/url"),
        ({"podLabels": {"a": 1}}, "/podLabels/a"),
        ({"metrics": {"serviceMonitor": {"interval": 30}}}, "/metrics/serviceMonitor/interval"),
        ({"podDisruptionBudget": {"maxUnavailable": 2}}, "/podDisruptionBudget/maxUnavailable"),
    ],
    ids=lambda case: case if isinstance(case, str) else "",
)
def test_a_wrong_value_is_refused_at_its_place(helm: Helm, values: Values, place: str) -> None:
    result = helm.run("template", NAME, str(CHART), values=values)
    assert result.returncode != 0
    assert f"'{place}'" in result.stderr


def test_a_parent_chart_may_pass_its_globals(helm: Helm) -> None:
    assert helm.render({"global": {"of": "the parent"}})


def test_every_value_is_described_where_it_is_set() -> None:
    """The comments are those of helm-docs, so its users can make a table of them."""
    lines = VALUES.splitlines()
    for number, line in enumerate(lines):
        name = re.match(r"^( *)(\w+):(.*)$", line)
        if name is None or inside_an_object(lines, number):
            continue
        before = lines[number - 1].strip()
        group = name[3] == "" and not before.startswith("#")
        assert group or before.startswith("#"), f"{line.strip()} has no comment"


def inside_an_object(lines: list[str], number: int) -> bool:
    """True below a value that is a Kubernetes object, whose fields are not ours to describe."""
    indent = len(lines[number]) - len(lines[number].lstrip())
    if indent == 0:
        return False
    above = next(line for line in reversed(lines[:number]) if line and line[0] not in " #")
    return above.startswith(("resources:", "podSecurityContext:", "securityContext:"))


def test_every_value_is_in_the_readme() -> None:
    readme = (CHART / "README.md").read_text()
    missing = [name for name in leaves(yaml.safe_load(VALUES), SCHEMA) if f"`{name}`" not in readme]
    assert not missing


def test_every_value_is_in_the_schema() -> None:
    assert set(yaml.safe_load(VALUES)) == set(SCHEMA["properties"]) - {"global"}
