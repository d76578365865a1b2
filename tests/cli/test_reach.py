"""What the doctor says of the cluster's DNS, and of an image."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from trainingjobs.cli.views import reach
from trainingjobs.cli.views.reach import Reach

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def a_slice(*ready: bool | None) -> dict[str, Any]:
    return {"endpoints": [{"conditions": {} if it is None else {"ready": it}} for it in ready]}


def a_node(*names: str) -> dict[str, Any]:
    return {"metadata": {"name": "node-a"}, "status": {"images": [{"names": list(names)}]}}


def a_job(name: str, minutes: float, status: str = "True", **spec: Any) -> dict[str, Any]:
    """Whose ranks have found each other so long ago, or have not."""
    then = (NOW - timedelta(minutes=minutes)).isoformat()
    condition = {"type": "Registered", "status": status, "lastTransitionTime": then}
    return {
        "metadata": {"namespace": "lab", "name": name},
        "spec": {"PARALLEL_INSTANCES": 2, **spec},
        "status": {"conditions": [condition]},
    }


def told(found: Reach) -> list[tuple[str, str]]:
    return [(check.verdict, check.words) for check in reach.checks(found, "lab", NOW)]


@pytest.mark.parametrize(
    ("slices", "verdict", "words"),
    [
        (None, "unknown", "you may not list EndpointSlices"),
        ([], "unknown", "no endpoints in kube-system"),
        ([a_slice()], "unknown", "no endpoints in kube-system"),
        ([{"endpoints": None}], "unknown", "no endpoints in kube-system"),
        ([a_slice(False), a_slice(False)], "bad", "no ready endpoint"),
        ([a_slice(False, True)], "ok", "ready endpoints (1)"),
        ([a_slice(None), a_slice(True)], "ok", "ready endpoints (2)"),
    ],
)
def test_dns(slices: Any, verdict: str, words: str) -> None:
    ((said, why),) = told(Reach(slices=slices))
    assert said == verdict
    assert words in why


@pytest.mark.parametrize("slices", [None, [], [a_slice()]], ids=["may not", "none", "no ends"])
@pytest.mark.parametrize(
    ("jobs", "verdict", "words"),
    [
        ([a_job("old", 90), a_job("new", 3), a_job("mid", 5)], "ok", "lab/new found"),
        ([a_job("new", 3)], "ok", "found each other by name 3m ago; no name was tried"),
        ([a_job("late", 3, status="False")], "unknown", "kube-dns"),
        ([a_job("alone", 3, PARALLEL_INSTANCES=1)], "unknown", "kube-dns"),
        ([a_job("old", 24 * 60 + 1)], "unknown", "kube-dns"),
        (
            [{"metadata": {"name": "bare"}, "spec": {"PARALLEL_INSTANCES": 2}}],
            "unknown",
            "kube-dns",
        ),
    ],
)
def test_ranks_that_found_each_other_show_a_dns_that_is_no_pod(
    slices: Any, jobs: Any, verdict: str, words: str
) -> None:
    ((said, why),) = told(Reach(slices=slices, jobs=jobs))
    assert (said, words in why) == (verdict, True), why


def test_what_was_before_does_not_hide_that_no_endpoint_is_ready() -> None:
    ((said, _),) = told(Reach(slices=[a_slice(False)], jobs=[a_job("new", 3)]))
    assert said == "bad"


def test_why_dns_could_not_be_seen() -> None:
    ((said, why),) = told(Reach(unseen={"dns": "no answer"}))
    assert (said, why) == ("unknown", "kube-dns could not be looked at: no answer")


@pytest.mark.parametrize(
    ("nodes", "verdict", "words"),
    [
        (None, "unknown", "which nodes have pytorch/pytorch cannot be told: you may not list"),
        ([], "unknown", "no node tells that it has pytorch/pytorch"),
        ([{"metadata": {}}, a_node()], "unknown", "no node tells"),
        ([a_node("docker.io/pytorch/pytorch:2.8")], "unknown", "no node tells"),
        (
            [a_node(), a_node("docker.io/pytorch/pytorch:latest", "x@sha256:0")],
            "ok",
            "pytorch/pytorch is on 1 of 2 nodes already",
        ),
    ],
)
def test_an_image(nodes: Any, verdict: str, words: str) -> None:
    _, (said, why) = told(Reach(image="pytorch/pytorch", nodes=nodes, secrets={}))
    assert said == verdict
    assert words in why


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("python", "docker.io/library/python:latest"),
        ("python:3.12", "docker.io/library/python:3.12"),
        ("pytorch/pytorch:2.8", "docker.io/pytorch/pytorch:2.8"),
        ("localhost/trainer", "localhost/trainer:latest"),
        ("registry:5000/a/b", "registry:5000/a/b:latest"),
        ("ghcr.io/a/b@sha256:00", "ghcr.io/a/b@sha256:00"),
    ],
)
def test_the_name_that_nodes_know(image: str, name: str) -> None:
    assert reach.full(image) == name


def test_pull_secrets() -> None:
    found = told(Reach(image="x", secrets={"a": True, "b": None, "c": False}))[2:]
    assert [verdict for verdict, _ in found] == ["ok", "unknown", "hint"]
    ((said, why),) = told(Reach(image="x", unseen={"image": "no answer"}))[2:]
    assert (said, why.endswith("could not be read: no answer")) == ("unknown", True)
