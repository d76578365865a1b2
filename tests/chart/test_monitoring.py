"""The alerts and the dashboard ask for what is told, and the chart hands them on unharmed."""

import json
import re
from collections.abc import Iterator
from typing import Any

import promql_parser
import pytest
import yaml
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard
from grafana_foundation_sdk.models.prometheus import Dataquery

from chart.rendering import CHART, EVERYTHING, Helm, of_kind
from trainingjobs.model.finding import Kind
from trainingjobs.model.status import Phase
from trainingjobs.status import goodput

ALERTS = yaml.safe_load((CHART / "files" / "alerts.yaml").read_text())
RULES = [rule for group in ALERTS["groups"] for rule in group["rules"]]
DASHBOARD = json.loads((CHART / "files" / "dashboard.json").read_text())
DOCUMENT = CHART.parents[1] / "docs" / "metrics.md"
ROW = re.compile(r"^\| `(\w+)` \| (\w+) \|([^|]*)\|", re.MULTILINE)
TOLD = {
    name: (kind, set(re.findall(r"\w+", labels)))
    for name, kind, labels in ROW.findall(DOCUMENT.read_text())
}
OF_JOBS = {"namespace", "trainingjob"}
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
TARGETS = [(panel["title"], it["expr"]) for panel in PANELS for it in panel["targets"]]
QUERIES = [(rule["alert"], rule["expr"]) for rule in RULES] + TARGETS
register_default_plugins()
PARTS = ("lhs", "rhs", "expr", "args", "param", "vector_selector")
"""Where an expression has others in it."""
WORDS = {
    "phase": {phase.value for phase in Phase},
    "kind": {kind.value for kind in Kind},
    "state": set(goodput.STATES),
    "outcome": {"success", "error"},
    "route": {"reports", "trainingjobs", "other"},
    "code": {"200"},
}


def test_every_alert_is_in_the_document() -> None:
    rows = re.findall(r"^\| (TrainingJob\w+) \| (\w+) \|", DOCUMENT.read_text(), re.MULTILINE)
    assert rows == [(rule["alert"], rule["labels"]["severity"]) for rule in RULES]


def selectors(expression: Any) -> Iterator[Any]:
    """All that an expression reads."""
    if isinstance(expression, promql_parser.VectorSelector):
        yield expression
        return
    for name in PARTS:
        child = getattr(expression, name, None)
        for each in child if isinstance(child, list) else [child]:
            if each is not None:
                yield from selectors(each)


def read(query: str) -> list[Any]:
    """What a query reads; Grafana's own words stand for what they become."""
    return list(selectors(promql_parser.parse(re.sub(r"\$__(rate_interval|range)", "5m", query))))


def family(name: str) -> tuple[str, set[str]]:
    """Type and labels of a series."""
    kind, labels = TOLD.get(name) or TOLD.get(re.sub("_(bucket|sum|count)$", "", name), ("", set()))
    of_job = not name.startswith("trainingjob_operator_")
    return kind, labels | (OF_JOBS if of_job else set()) | {"le"}


@pytest.mark.parametrize(("title", "query"), QUERIES, ids=[title for title, _ in QUERIES])
def test_a_query_reads_what_is_told(title: str, query: str) -> None:
    found = read(query)
    assert found, title
    for selector in found:
        kind, labels = family(selector.name)
        assert kind, selector.name
        for matcher in selector.matchers.matchers:
            assert matcher.name in labels
            words = set(matcher.value.split("|"))
            assert matcher.value[0] == "$" or words <= WORDS[matcher.name]


def test_the_finder_of_series_finds_all_of_them() -> None:
    found = read('sum by (a) (rate(x_total{b="c"}[5m])) / on (d) (y > 0) or absent(-z)')
    assert [it.name for it in found] == ["x_total", "y", "z"]
    assert family("no_such_series")[0] == ""


@pytest.mark.parametrize(("title", "query"), QUERIES, ids=[title for title, _ in QUERIES])
def test_counters_are_read_as_rates_and_gauges_as_they_are(title: str, query: str) -> None:
    for selector in read(query):
        ranged = f"{selector.name}{{" in query or f"{selector.name}[" in query
        counts = family(selector.name)[0] in {"counter", "histogram"}
        assert not counts or (ranged and re.search(r"(rate|increase)\(", query)), title


def test_what_is_promised_is_watched() -> None:
    names = {rule["alert"] for rule in RULES}
    assert {
        "TrainingJobStalled",
        "TrainingJobRestartsOften",
        "TrainingJobOperatorAbsent",
        "TrainingJobOperatorNotReady",
        "TrainingJobOperatorErrors",
        "TrainingJobReportsRefused",
    } <= names
    assert len(names) == len(RULES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_an_alert_says_what_it_means_and_names_what_it_has(rule: Any) -> None:
    assert rule["labels"]["severity"] in {"warning", "critical"}
    assert set(rule["annotations"]) == {"summary", "description"}
    known = set().union(*(family(it.name)[1] for it in read(rule["expr"])))
    text = " ".join(rule["annotations"].values())
    assert set(re.findall(r"\$labels\.(\w+)", text)) <= known


def test_a_release_that_leads_does_not_hide_one_that_does_not() -> None:
    (rule,) = (it for it in RULES if it["alert"] == "TrainingJobOperatorNoLeader")
    summed = promql_parser.parse(rule["expr"]).lhs
    assert {*summed.modifier.labels} == {"namespace", "job"}


@pytest.mark.parametrize("alert", ["TrainingJobStalled", "TrainingJobTrainsWrongly"])
def test_a_handover_between_replicas_does_not_end_an_alert_of_a_job(alert: str) -> None:
    rule = next(it for it in RULES if it["alert"] == alert)
    left = promql_parser.parse(rule["expr"]).lhs.lhs
    assert {"pod", "instance"}.isdisjoint(left.modifier.labels)


def test_the_dashboard_is_one_that_grafana_takes() -> None:
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(ids)) == len(ids)
    variables = {it["name"]: it for it in DASHBOARD["templating"]["list"]}
    assert list(variables) == ["datasource", "namespace", "trainingjob"]
    used = set(re.findall(r"\$\{?(\w+)", json.dumps(DASHBOARD)))
    assert used <= {*variables, "__all", "__range", "__rate_interval"}
    assert all(panel["datasource"]["uid"] == "${datasource}" for panel in PANELS)


def test_grafanas_own_model_knows_all_that_the_dashboard_says() -> None:
    """What it does not know, it leaves out or refuses."""
    read = Dashboard.from_json(json.loads(json.dumps(DASHBOARD)))
    kept = json.loads(JSONEncoder().encode(read))
    # the page writes a variable's query there once more, to show it; the model has no place for it
    assert set(left_out(DASHBOARD, kept)) == {("templating", "list", "definition")}
    queries = [it for panel in read.panels for it in getattr(panel, "targets", None) or ()]
    assert {type(it) for it in queries} == {Dataquery}
    assert len(queries) == len(TARGETS)


def left_out(said: Any, kept: Any, *path: str) -> Iterator[tuple[str, ...]]:
    """Where something of what was said is not kept as it was."""
    if isinstance(said, dict):
        for key, value in said.items():
            if key not in kept:
                yield (*path, key)
            else:
                yield from left_out(value, kept[key], *path, key)
    elif isinstance(said, list):
        assert len(said) == len(kept), path
        for one, other in zip(said, kept, strict=True):
            yield from left_out(one, other, *path)
    elif said != kept:
        yield path


def test_no_panel_lies_on_another() -> None:
    places: dict[tuple[int, int], str] = {}
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        for x in range(at["x"], at["x"] + at["w"]):
            for y in range(at["y"], at["y"] + at["h"]):
                assert places.setdefault((x, y), panel["title"]) == panel["title"]


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_a_panel_says_what_it_shows(panel: Any) -> None:
    assert panel["description"].endswith(".")
    shown = re.findall(r"\{\{(\w+)\}\}", " ".join(it["legendFormat"] for it in panel["targets"]))
    known = set().union(*(family(s.name)[1] for it in panel["targets"] for s in read(it["expr"])))
    assert set(shown) <= known


@pytest.mark.integration
def test_the_chart_hands_both_on_unharmed(helm: Helm) -> None:
    objects = helm.render(EVERYTHING)
    (rule,) = of_kind(objects, "PrometheusRule")
    assert rule["spec"] == ALERTS
    assert rule["metadata"]["labels"]["release"] == "prometheus"
    (dashboard,) = of_kind(objects, "ConfigMap")
    assert json.loads(dashboard["data"]["trainingjobs.json"]) == DASHBOARD
    assert dashboard["metadata"]["labels"]["grafana_dashboard"] == "yes"
    assert dashboard["metadata"]["annotations"] == {"grafana_folder": "Training"}


@pytest.mark.integration
def test_grafanas_sidecar_finds_the_dashboard_by_its_usual_label(helm: Helm) -> None:
    values = {"metrics": {"dashboard": {"enabled": True}}}
    (dashboard,) = of_kind(helm.render(values), "ConfigMap")
    assert dashboard["metadata"]["labels"]["grafana_dashboard"] == "1"


@pytest.mark.integration
def test_a_jobs_namespace_is_not_taken_for_the_operators(helm: Helm) -> None:
    (monitor,) = of_kind(helm.render(EVERYTHING), "ServiceMonitor")
    assert monitor["spec"]["endpoints"][0]["honorLabels"] is True
