"""Whether a job could run here: one line for each thing that it needs, and what to do about it.

What may not be looked at is said to be unknown, never to be well.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

from trainingjobs.cli.views.quantities import quantity
from trainingjobs.client.job import Manifest
from trainingjobs.model import labels

Verdict = Literal["ok", "bad", "unknown", "hint"]
_INSTALL = "helm install trainingjob-operator (see the operator's README)"
_OPTIONS = {"cpu": "--cpus", "memory": "--memory"}
_JOBS = f"count/{labels.PLURAL}.{labels.GROUP}"
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
    unseen: Mapping[str, str] = field(default_factory=dict)
    """Why something could not be found out, by what it is about; else it may not be read."""
    served: bool | None = None
    operators: Sequence[Manifest] | None = None
    rights: Mapping[str, bool | None] = field(default_factory=dict)
    """By what people do with them."""
    home: str = ""
    """The operator's namespace."""
    live: Mapping[str, bool | None] = field(default_factory=dict)
    """Rights there, which jobs do not need, and who looks at all of their ranks does."""
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
    amounts = {name: quantity(text) for name, text in each.items()}
    return [
        Check("cluster", "ok", f"Kubernetes {facts.version}"),
        _resource(facts),
        _operator(facts, namespace),
        *(_right(what, found, namespace) for what, found in facts.rights.items()),
        *_live(facts),
        _quota(facts, namespace, count, amounts),
        _room(facts, count, amounts),
    ]


def _unknown(facts: Facts, about: str, what: str) -> Check:
    why = facts.unseen.get(about)
    words = f"{what} could not be looked at: {why}" if why else f"you may not list {what}"
    return Check(about, "unknown", words)


def _resource(facts: Facts) -> Check:
    if facts.served is None:
        return _unknown(facts, "resource", f"the resources of {labels.GROUP}")
    if facts.served:
        return Check("resource", "ok", f"{labels.PLURAL}.{labels.GROUP} is served")
    return Check("resource", "bad", "the cluster knows no TrainingJobs", _INSTALL)


def _operator(facts: Facts, namespace: str) -> Check:
    found = facts.operators
    if found is None:
        return _unknown(facts, "operator", "Deployments of all namespaces")
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


def _right(what: str, found: bool | None, namespace: str) -> Check:  # noqa: FBT001  a fact
    if found is None:
        words = f"whether you may {what} in {namespace} could not be asked"
        return Check("rights", "unknown", words)
    if found:
        return Check("rights", "ok", f"you may {what} in {namespace}")
    return Check("rights", "bad", f"you may not {what} in {namespace}", "ask who runs the cluster")


def _live(facts: Facts) -> Iterator[Check]:
    """Without these a job runs as well: a hint, in one line."""
    missing = [what for what, found in facts.live.items() if found is False]
    if missing:
        words = f"stacks, top and ui need rights in {facts.home}: {', '.join(missing)}"
        yield Check("live", "hint", words, "for the token --account helps, see docs/cli.md")
    elif any(found is None for found in facts.live.values()):
        words = f"whether you may look at the operator in {facts.home} could not be asked"
        yield Check("live", "unknown", words)
    elif facts.live:
        yield Check("live", "ok", f"you may use stacks, top and ui: all rights in {facts.home}")


def _quota(facts: Facts, namespace: str, count: int, each: Amounts) -> Check:
    if facts.quotas is None:
        return _unknown(facts, "quota", f"the quotas of {namespace}")
    found = [check for item in facts.quotas for check in _limits(item, count, each)]
    worst = sorted(found, key=lambda check: check.verdict != "bad")
    return (
        worst[0] if worst else Check("quota", "ok", f"{namespace} has room for {count} more pods")
    )


def _limits(item: Manifest, count: int, each: Amounts) -> Iterator[Check]:
    """What this quota has too little of, and what of it cannot be told."""
    name, status, spec = item["metadata"]["name"], item.get("status") or {}, item.get("spec") or {}
    needed = _needed(count, each)
    for what, text in (status.get("hard") or {}).items():
        hard, used = quantity(text), quantity((status.get("used") or {}).get(what))
        plain = what.removeprefix("requests.").removeprefix("limits.")
        if what in needed and hard - used < needed[what]:
            some = spec.get("scopes") or spec.get("scopeSelector")
            yield Check(
                "quota",
                "unknown" if some else "bad",
                f"{name} leaves {_short(max(hard - used, Decimal(0)))} of {text} {what}, and "
                f"{_short(needed[what])} are needed"
                + ("; it is for some pods alone" if some else ""),
                "smaller jobs, or a larger quota",
            )
        elif plain in _OPTIONS and not each.get(plain):
            words = f"{name} limits {what}, and nothing is said of what each pod needs"
            yield Check("quota", "unknown", words, f"tell it with {_OPTIONS[plain]}")


def _needed(count: int, each: Amounts) -> dict[str, Decimal]:
    """What a job of so many pods takes of each kind that a quota may limit."""
    pods = {name: Decimal(count) for name in ("pods", "count/pods")}
    others = {name: Decimal(1) for name in ("services", "count/services", _JOBS)}
    amounts = {
        f"{kind}{name}": amount * count
        for name, amount in each.items()
        for kind in ("", "requests.", "limits.")
    }
    return {**pods, **others, **amounts}


def _short(number: Decimal) -> str:
    return f"{number.normalize():f}"


def _room(facts: Facts, count: int, each: Amounts) -> Check:
    if facts.nodes is None or facts.pods is None:
        return _unknown(facts, "room", "nodes, or the pods on them")
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
