"""Changes of one field of a spec at a time, made from the resource's own schema.

Edges are values at and beyond the bounds, and of other types: the API server says yes or no to
them, and what it takes the operator must be able to read. Turns are values that a job can live
with: it is turned to them and back. Oddities are what only the API server's judgement of a pod
can find wrong in a template.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

CRD = Path(__file__).parents[2] / "crds" / "trainingjob.yaml"
TRAINER = {"name": "trainer", "image": "my/trainer:1"}
OTHER_TRAINER = {"name": "trainer", "image": "my/trainer:2", "env": [{"name": "A", "value": "b"}]}
BASE: dict[str, Any] = {"PARALLEL_INSTANCES": 2, "template": {"spec": {"containers": [TRAINER]}}}
OTHER_TEMPLATE = {
    "metadata": {"labels": {"team": "a"}, "annotations": {"note": "x"}},
    "spec": {"containers": [OTHER_TRAINER], "nodeSelector": {"zone": "b"}},
}
_WRONG_TYPES: tuple[Any, ...] = ("nonsense", -1, 1.5, True, [], {}, ["a"], {"a": "b"})
_TURNS: dict[str, Any] = {
    "template": OTHER_TEMPLATE,
    "masterTemplate": OTHER_TEMPLATE,
    "failureRules": [{"exitCodes": [3], "action": "Fail"}],
    "elastic": {"minInstances": 1, "maxInstances": 4},
    "processesPerInstance": 4,
    "PARALLEL_INSTANCES": 3,
    "suspend": True,
}
_NOT_OURS = {"managedBy"}


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """One field with another value."""

    path: tuple[str, ...]
    value: Any

    @property
    def id(self) -> str:
        """The field and the value, short."""
        if self.path[-1] == "containers" and isinstance(self.value, list):
            name, value = list(self.value[0].items())[-1]
            return f"{'.'.join(self.path)}.{name}={value!r}"
        return f"{'.'.join(self.path)}={self.value!r}"[:60]

    @property
    def named(self) -> str:
        """What a refusal must name."""
        return self.path[0]

    def spec(self) -> dict[str, Any]:
        """The base with this change."""
        return _with(BASE, self.path, self.value)


def schema() -> dict[str, Any]:
    """The schema of a spec."""
    versions = yaml.safe_load(CRD.read_text())["spec"]["versions"]
    whole = versions[0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    found: dict[str, Any] = whole["properties"]
    return found


@cache
def edges() -> list[Change]:
    """Values at the bounds, beyond them and of wrong types, of each field."""
    return [
        Change((name, *below), value)
        for name, field in schema().items()
        for below, value in _edges(field)
    ]


@cache
def turns() -> list[Change]:
    """One or two other good values of each field."""
    return [
        Change((name,), value)
        for name, field in schema().items()
        if name not in _NOT_OURS
        for value in ([_TURNS[name]] if name in _TURNS else _good(name, field))
    ]


@cache
def oddities() -> list[Change]:
    """Each field of a template's pod and of its container with what it cannot be."""
    pod = schema()["template"]["properties"]["spec"]["properties"]
    container = pod["containers"]["items"]["properties"]
    found = [
        Change(("template", "spec", name), odd)
        for name in pod
        if name not in {"containers", "initContainers"}
        for odd in (17, "%%", {"bogus": [1]})
    ]
    return found + [
        Change(("template", "spec", "containers"), [{**TRAINER, name: odd}])
        for name in container
        if name not in {"name", "env"}
        for odd in (17, {"bogus": [1]})
    ]


def _edges(field: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    kind = field.get("type")
    if "maximum" in field:
        low, high = field["minimum"], field["maximum"]
        yield from (((), value) for value in (low - 1, low, high, high + 1, 2**40))
    for choice in field.get("enum", ()):
        yield (), choice
        yield (), choice.lower()
    if kind == "string" and "maxLength" in field:
        yield from (((), "a" * length) for length in (field["maxLength"], field["maxLength"] + 1))
    if kind == "array":
        yield (), [{}]
    if field.get("x-kubernetes-int-or-string"):
        yield from (((), value) for value in ("auto", 0, 1, 1024, 1025, "1", "many"))
    if kind == "object" and "x-kubernetes-preserve-unknown-fields" not in field:
        for name, inner in field.get("properties", {}).items():
            yield from (((name, *below), value) for below, value in _edges(inner))
    yield from (((), value) for value in _WRONG_TYPES)


def _good(name: str, field: dict[str, Any]) -> list[Any]:
    if "enum" in field:
        return [it for it in field["enum"] if it != field.get("default")]
    if "maximum" in field:
        low, high = field["minimum"], field["maximum"]
        usual = 3600 if name.endswith("Seconds") else low + 7
        return [min(high, usual)]
    return []


def _with(holder: dict[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    first, *rest = path
    inner = _with(holder.get(first) or {}, tuple(rest), value) if rest else value
    return {**holder, first: inner}
