"""What the doctor says of the cluster's DNS, and of an image."""

from typing import Any

import pytest

from trainingjobs.cli.views import reach
from trainingjobs.cli.views.reach import Reach


def a_slice(*ready: bool | None) -> dict[str, Any]:
    return {"endpoints": [{"conditions": {} if it is None else {"ready": it}} for it in ready]}


def a_node(*names: str) -> dict[str, Any]:
    return {"metadata": {"name": "node-a"}, "status": {"images": [{"names": list(names)}]}}


def told(found: Reach) -> list[tuple[str, str]]:
    return [(check.verdict, check.words) for check in reach.checks(found, "lab")]


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
