"""The dashboard and the alerts over real data.

Jobs train, hang, fall and are disturbed on a cluster, a Prometheus reads the operator, and every
panel has something to show.
"""

import json
from collections.abc import Iterator
from math import isnan
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e import deployed, harness, jobs
from e2e.deployed import Operator
from e2e.harness import Namespace
from e2e.rollcall import scenarios
from e2e.rollcall.history import History, holds
from monitoring.prometheus import SECONDS, Prometheus, reading

pytestmark = [pytest.mark.monitoring, pytest.mark.timeout(900)]

FILES = Path(__file__).parents[2] / "charts" / "trainingjob-operator" / "files"
PANELS = [
    it for it in json.loads((FILES / "dashboard.json").read_text())["panels"] if it["type"] != "row"
]
TARGETS = [(panel["title"], it["expr"]) for panel in PANELS for it in panel["targets"]]
ALERTS = {
    rule["alert"]: rule["expr"]
    for group in yaml.safe_load((FILES / "alerts.yaml").read_text())["groups"]
    for rule in group["rules"]
}
TELLING = (Path(deployed.__file__).with_name("telling.py")).read_text()


@pytest.fixture(scope="module")
def operator() -> Operator:
    found = deployed.find(harness.find())
    found.wait_until_ready()
    return found


@pytest.fixture(scope="module")
def prometheus(
    operator: Operator, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Prometheus]:
    pods = [it for it in operator.home.objects("pods") if it.startswith(operator.name)]
    with reading(operator, pods, tmp_path_factory.mktemp("prometheus")) as found:
        yield found


@pytest.fixture(scope="module")
def lab(operator: Operator, prometheus: Prometheus) -> Iterator[Namespace]:
    """One job that trains and loses a pod, one that hangs, one that falls again and again."""
    cluster = operator.home.cluster
    lab = cluster.new_namespace("dashboard")
    try:
        _play(lab, prometheus)
        yield lab
    finally:
        cluster.kubectl("delete", "namespace", lab.name, "--wait=false")


def _play(lab: Namespace, prometheus: Prometheus) -> None:
    """Until each has done what it is there for.

    A count grows for who has seen what it was before, as after the usual minute of a job's life.
    """
    lab.apply(scenarios.config_map())
    history = History(lab)
    history.begin()
    lab.apply(jobs.a_job("trains", 2, jobs.a_template(TELLING, STEPS="600")))
    history.first("trains", _has_stepped)
    prometheus.until(of(lab, 'trainingjob_disruptions_total{namespace="$namespace"} == 0'))
    lab.kubectl("delete", "pod", "trains-worker-0", "--wait=false")
    lab.apply(scenarios.job("skip", ""))
    falls = scenarios.job("broken", "")
    falls["spec"]["maxRestarts"] = 2
    lab.apply(falls)
    history.first("skip", holds("Stalled"))
    history.first("broken", lambda status: status.get("restarts", 0) > 0)
    history.first("trains", lambda it: it.get("attempt") == 2 and _has_stepped(it))


def _has_stepped(status: dict[str, Any]) -> bool:
    return bool((status.get("training") or {}).get("step"))


def of(lab: Namespace, query: str) -> str:
    """The query as the dashboard sends it, with this namespace chosen."""
    words = {
        "$namespace": lab.name,
        "$trainingjob": ".*",
        "$__rate_interval": f"{20 * SECONDS}s",
        "$__range": "15m",
    }
    for word, value in words.items():
        query = query.replace(word, value)
    assert "$" not in query
    return query


@pytest.mark.parametrize(("title", "query"), TARGETS)
def test_every_panel_has_something_to_show(
    prometheus: Prometheus, lab: Namespace, title: str, query: str
) -> None:
    found = prometheus.until(of(lab, query), drawn=True)
    points = [float(value) for it in found for _, value in it["values"]]
    seen = [(it["metric"], len(it["values"]), it["values"][-1][1]) for it in found]
    print(f"{title}: {seen[:4]}")  # noqa: T201 - for who looks
    assert [it for it in points if not isnan(it)], "NaN is drawn as nothing"


def the(prometheus: Prometheus, lab: Namespace, title: str) -> dict[Any, float]:
    """What one panel shows, by the label that tells its series apart."""
    (query,) = (it for name, it in TARGETS if name == title)
    found = prometheus.until(of(lab, query))
    return {
        it["metric"].get("trainingjob", it["metric"].get("phase", "")): float(it["value"][1])
        for it in found
    }


def test_what_is_shown_is_what_is(prometheus: Prometheus, lab: Namespace) -> None:
    phases = {name: it["status"]["phase"] for name, it in lab.objects("trainingjobs").items()}
    assert phases["trains"] == phases["skip"] == "Running"
    shown = the(prometheus, lab, "Jobs by phase")
    assert shown["Running"] == list(phases.values()).count("Running")
    assert sum(shown.values()) == len(phases)
    assert the(prometheus, lab, "Findings") == {"skip": 1}
    assert 0 < the(prometheus, lab, "Progress")["trains"] < 1
    rate = the(prometheus, lab, "Steps per second")["trains"]
    assert rate == pytest.approx(1, rel=0.4), "the script makes one a second"


def test_a_hang_is_what_its_alert_is_about(prometheus: Prometheus, lab: Namespace) -> None:
    found = prometheus.until(ALERTS["TrainingJobStalled"])
    ours = [it["metric"] for it in found if it["metric"]["namespace"] == lab.name]
    assert [it["trainingjob"] for it in ours] == ["skip"]


@pytest.mark.parametrize(
    "alert",
    ["TrainingJobOperatorAbsent", "TrainingJobOperatorNotReady", "TrainingJobOperatorNoLeader"],
)
def test_an_operator_that_is_well_alarms_nobody(
    prometheus: Prometheus, lab: Namespace, alert: str
) -> None:
    del lab
    assert prometheus.ask(ALERTS[alert]) == []
