"""What the doctor says of a cluster."""

from decimal import Decimal
from typing import Any

import pytest

from trainingjobs.cli.views import health, quantities
from trainingjobs.cli.views.health import Facts


def an_operator(ready: int = 1, namespaces: str = "") -> dict[str, Any]:
    env = [{"name": "TRAININGJOBS_NAMESPACES", "value": namespaces}]
    return {
        "metadata": {"namespace": "system", "name": "operator"},
        "spec": {"template": {"spec": {"containers": [{"env": env}]}}},
        "status": {"readyReplicas": ready} if ready else {},
    }


def a_node(name: str = "node-a", **others: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "status": {
            "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
        **others,
    }


def a_pod(cpu: str = "1500m", phase: str = "Running") -> dict[str, Any]:
    container = {"resources": {"requests": {"cpu": cpu}}}
    return {"spec": {"nodeName": "node-a", "containers": [container]}, "status": {"phase": phase}}


def a_quota(hard: str, used: str, what: str = "pods", **spec: Any) -> dict[str, Any]:
    status = {"hard": {what: hard}, "used": {what: used}}
    return {"metadata": {"name": "room"}, "status": status, "spec": spec}


def verdicts(facts: Facts, about: str, count: int = 3, **each: str) -> list[tuple[str, str]]:
    found = health.checks(facts, "lab", count, each)
    return [(check.verdict, check.words) for check in found if check.about == about]


@pytest.mark.parametrize(
    ("found", "verdict", "words"),
    [
        (None, "unknown", "you may not list"),
        ([], "bad", "no operator is installed"),
        ([an_operator(0)], "bad", "system/operator is not ready"),
        ([an_operator(namespaces="other,third")], "bad", "does not serve lab"),
        ([an_operator(namespaces="other,lab")], "ok", "is ready and serves lab"),
        ([an_operator()], "ok", "is ready and serves lab"),
    ],
)
def test_the_operator(found: Any, verdict: str, words: str) -> None:
    ((told, said),) = verdicts(Facts(operators=found), "operator")
    assert told == verdict
    assert words in said


@pytest.mark.parametrize("served", [True, False])
def test_the_resource(served: bool) -> None:
    ((verdict, _),) = verdicts(Facts(served=served), "resource")
    assert verdict == ("ok" if served else "bad")


def test_rights() -> None:
    facts = Facts(rights={"read logs": True, "list pods": False})
    assert verdicts(facts, "rights") == [
        ("ok", "you may read logs in lab"),
        ("bad", "you may not list pods in lab"),
    ]


@pytest.mark.parametrize(
    ("live", "verdict", "words"),
    [
        ({"list pods": True}, "ok", "in ops"),
        ({"list pods": True, "create pods/portforward": False}, "hint", "create pods/portforward"),
        ({"list pods": None}, "unknown", "in ops"),
    ],
)
def test_rights_at_the_operator_are_a_hint(live: Any, verdict: str, words: str) -> None:
    ((told, said),) = verdicts(Facts(live=live, home="ops"), "live")
    assert (told, words in said, "list pods" in said) == (verdict, True, False)


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (None, "unknown"),
        ([], "ok"),
        ([a_quota("10", "7")], "ok"),
        ([a_quota("10", "8")], "bad"),
        ([a_quota("4", "0", "services"), a_quota("10", "0")], "ok"),
        ([a_quota("4", "4", "services")], "bad"),
        ([a_quota("1", "1", "count/trainingjobs.trainingjob.dev")], "bad"),
        ([a_quota("6", "1", "requests.cpu")], "bad"),
        ([a_quota("7", "1", "cpu")], "ok"),
        ([a_quota("16Gi", "0", "limits.memory")], "unknown"),
        ([a_quota("7", "5", "requests.nvidia.com/gpu")], "bad"),
        ([a_quota("6", "1", "requests.cpu", scopes=["BestEffort"])], "unknown"),
        ([a_quota("16Gi", "0", "memory"), a_quota("10", "8")], "bad"),
    ],
)
def test_quotas(found: Any, verdict: str) -> None:
    each = {"cpu": "2", "nvidia.com/gpu": "1"}
    ((told, words),) = verdicts(Facts(quotas=found), "quota", **each)
    assert told == verdict, words


def test_what_was_not_told_is_unknown_and_why() -> None:
    about = ("resource", "operator", "quota", "room")
    facts = Facts(unseen=dict.fromkeys(about, "no answer in time"), rights={"list pods": None})
    for one in about:
        ((told, words),) = verdicts(facts, one)
        assert (told, words.endswith(": no answer in time")) == ("unknown", True), words
    ((told, words),) = verdicts(facts, "rights")
    assert (told, words) == ("unknown", "whether you may list pods in lab could not be asked")


TAINT = {"taints": [{"key": "gpu", "effect": "NoSchedule"}]}


@pytest.mark.parametrize(
    ("nodes", "pods", "each", "verdict"),
    [
        (None, [], {}, "unknown"),
        ([a_node()], [], {"cpu": "1"}, "ok"),
        ([a_node()], [a_pod()], {"cpu": "1"}, "bad"),
        ([a_node()], [a_pod()], {"cpu": "800m"}, "ok"),
        ([a_node()], [a_pod(phase="Succeeded")], {"cpu": "1"}, "ok"),
        ([a_node(), a_node("node-b")], [a_pod()], {"cpu": "2"}, "ok"),
        ([a_node(spec=TAINT)], [], {}, "bad"),
        ([a_node(spec={"unschedulable": True})], [], {}, "bad"),
        ([a_node()], [], {"nvidia.com/gpu": "1"}, "bad"),
        ([a_node()], [a_pod()] * 8, {}, "bad"),
    ],
)
def test_room(nodes: Any, pods: Any, each: dict[str, str], verdict: str) -> None:
    ((told, words),) = verdicts(Facts(nodes=nodes, pods=pods), "room", **each)
    assert told == verdict, words


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *[("500m", "0.5"), ("2", "2"), ("1Ki", "1024"), ("1k", "1000"), (None, "0"), ("odd", "0")],
        *[
            ("1Pi", "1125899906842624"),
            ("1e3", "1000"),
            ("1E", "1e18"),
            ("5n", "5e-9"),
            (".5", ".5"),
        ],
    ],
)
def test_quantities(text: Any, number: str) -> None:
    assert quantities.quantity(text) == Decimal(number)
