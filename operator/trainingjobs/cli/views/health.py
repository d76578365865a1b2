"""Whether a job could run here: one line for each thing that it needs, and what to do about it.

What may not be looked at is said to be unknown, never to be well.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Literal

from trainingjobs.client.job import Manifest
from trainingjobs.model import labels

Verdict = Literal["ok", "bad", "unknown"]
_FACTORS = {
    "m": Decimal("0.001"),
    "k": Decimal(10) ** 3,
    "M": Decimal(10) ** 6,
    "G": Decimal(10) ** 9,
    "T": Decimal(10) ** 12,
    "Ki": Decimal(2) ** 10,
    "Mi": Decimal(2) ** 20,
    "Gi": Decimal(2) ** 30,
    "Ti": Decimal(2) ** 40,
}
_INSTALL = "helm install trainingjob-operator (see the operator's README)"
_OVER = {"Succeeded", "Failed"}
Amounts = Mapping[str, Decimal]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing, how it is, and what to do where it is not well."""

    about: str
    verdict: Verdict
    words: str
    advice: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What was found out; None for what could not be."""

    version: str | None = None
    served: bool | None = None
    operators: Sequence[Manifest] | None = None
    rights: Mapping[str, bool] = field(default_factory=dict)
    """By what people do with them."""
    quotas: Sequence[Manifest] | None = None
    nodes: Sequence[Manifest] | None = None
    pods: Sequence[Manifest] | None = None
    """Of all namespaces."""


def checks(facts: Facts, namespace: str, count: int, each: Mapping[str, str]) -> list[Check]:
    """All of them.

    Args:
        facts: what was found out.
        namespace: where the job is to run.
        count: pods that it has.
        each: what each of them asks for, as cpu, memory, nvidia.com/gpu.
    """
    return [
        Check("cluster", "ok", f"Kubernetes {facts.version}"),
        _resource(facts.served),
        _operator(facts.operators, namespace),
        *(_right(what, found, namespace) for what, found in facts.rights.items()),
        _quota(facts.quotas, namespace, count),
        _room(facts, count, {name: quantity(text) for name, text in each.items()}),
    ]


def _resource(served: bool | None) -> Check:  # noqa: FBT001  a fact
    if served:
        return Check("resource", "ok", f"{labels.PLURAL}.{labels.GROUP} is served")
    return Check("resource", "bad", "the cluster knows no TrainingJobs", _INSTALL)


def _operator(found: Sequence[Manifest] | None, namespace: str) -> Check:
    if found is None:
        return Check("operator", "unknown", "you may not list Deployments of all namespaces")
    ready = [item for item in found if (item.get("status") or {}).get("readyReplicas")]
    if not found:
        return Check("operator", "bad", "no operator is installed", _INSTALL)
    names = ", ".join(
        f"{item['metadata']['namespace']}/{item['metadata']['name']}" for item in found
    )
    if not ready:
        why = f"kubectl -n {found[0]['metadata']['namespace']} describe pods"
        return Check("operator", "bad", f"{names} is not ready", why)
    if not any(_serves(item, namespace) for item in ready):
        advice = f"add {namespace} to the chart's value namespaces"
        return Check("operator", "bad", f"{names} does not serve {namespace}", advice)
    return Check("operator", "ok", f"{names} is ready and serves {namespace}")


def _serves(deployment: Manifest, namespace: str) -> bool:
    containers = deployment["spec"]["template"]["spec"]["containers"]
    env = {item["name"]: item.get("value") for one in containers for item in one.get("env") or []}
    listed = str(env.get("TRAININGJOBS_NAMESPACES") or "").replace(",", " ").split()
    return not listed or namespace in listed


def _right(what: str, found: bool, namespace: str) -> Check:  # noqa: FBT001  a fact
    if found:
        return Check("rights", "ok", f"you may {what} in {namespace}")
    return Check("rights", "bad", f"you may not {what} in {namespace}", "ask who runs the cluster")


def _quota(found: Sequence[Manifest] | None, namespace: str, count: int) -> Check:
    if found is None:
        return Check("quota", "unknown", f"you may not list the quotas of {namespace}")
    for item in found:
        status = item.get("status") or {}
        hard, used = (quantity((status.get(key) or {}).get("pods")) for key in ("hard", "used"))
        if (status.get("hard") or {}).get("pods") is not None and hard - used < count:
            name = item["metadata"]["name"]
            return Check(
                "quota",
                "bad",
                f"{name} leaves {max(hard - used, 0)} of {hard} pods, and {count} are needed",
                "smaller jobs, or a larger quota",
            )
    return Check("quota", "ok", f"{namespace} has room for {count} more pods")


def _room(facts: Facts, count: int, each: Amounts) -> Check:
    if facts.nodes is None or facts.pods is None:
        return Check("room", "unknown", "you may not list nodes, or the pods on them")
    usable = [node for node in facts.nodes if _usable(node)]
    fitting = sum(_fitting(node, facts.pods, each) for node in usable)
    asked = ", ".join(f"{name} {amount.normalize():f}" for name, amount in each.items() if amount)
    size = f"{count} pods" + (f" of {asked} each" if asked else "")
    words = f"{len(usable)} of {len(facts.nodes)} nodes are ready for any pod"
    if fitting >= count:
        return Check("room", "ok", f"{size} have room: {words}")
    return Check(
        "room", "bad", f"{size}: {fitting} have room; {words}", "wait for room, or ask for less"
    )


def _usable(node: Manifest) -> bool:
    spec, status = node.get("spec") or {}, node.get("status") or {}
    closed = any(item.get("effect") != "PreferNoSchedule" for item in spec.get("taints") or [])
    ready = {item.get("type"): item.get("status") for item in status.get("conditions") or []}
    return not closed and not spec.get("unschedulable") and ready.get("Ready") == "True"


def _fitting(node: Manifest, pods: Sequence[Manifest], each: Amounts) -> int:
    """So many of these pods fit on the node, beside those that are there."""
    there = [pod for pod in pods if _is_on(pod, node["metadata"]["name"])]
    total = {name: quantity(text) for name, text in node["status"].get("allocatable", {}).items()}
    left = {name: total.get(name, Decimal(0)) - _asked(there, name) for name in each}
    slots = int(total.get("pods", Decimal(110))) - len(there)
    room = [int(left[name] // amount) for name, amount in each.items() if amount > 0]
    return max(min([slots, *room]), 0)


def _is_on(pod: Manifest, node: str) -> bool:
    phase = (pod.get("status") or {}).get("phase")
    return (pod.get("spec") or {}).get("nodeName") == node and phase not in _OVER


def _asked(pods: Sequence[Manifest], name: str) -> Decimal:
    found = Decimal(0)
    for pod in pods:
        for container in pod["spec"].get("containers") or []:
            found += quantity(((container.get("resources") or {}).get("requests") or {}).get(name))
    return found


def quantity(text: object) -> Decimal:
    """A quantity of Kubernetes as a number; 0 for what is none."""
    shown = str(text or 0)
    digits = shown.rstrip("kMGTKim")
    try:
        return Decimal(digits) * _FACTORS.get(shown[len(digits) :], Decimal(1))
    except InvalidOperation:
        return Decimal(0)
