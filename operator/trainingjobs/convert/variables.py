"""Variables of a container: those that make the group go, all others stay."""

import re
from collections.abc import Sequence
from typing import Any

from trainingjobs.convert.options import COUNTS
from trainingjobs.convert.source import Source
from trainingjobs.model import labels
from trainingjobs.model.reserved import RESERVED
from trainingjobs.model.spec import Manifest

_MAX_ENV = 1000
_MAX_NAME = 1024
_REFERENCE = re.compile(r"\$\$|\$\(([^)$]*)\)")
"""As Kubernetes reads a value; two dollars are one that begins nothing."""
_FOREIGN = ("completion-index", "training.kubeflow.org/", "jobset.sigs.k8s.io/", "volcano.sh/")
"""What pods of other operators are labelled with, and ours are not."""

_OWN = ("TF_CONFIG", "JAX_")
_READ = "read it as before"
_READ_WHERE = (
    f"{_READ} with framework PyTorch; TensorFlow has TF_CONFIG, JAX and MPI names of their own"
)
_COUNTING = "it counts processes, where an instance has several (NODE_RANK, NNODES do not)"
_COUNTED = "it comes from spec.processesPerInstance: see that N stands there"


def converted(container: Source) -> list[Manifest]:
    """The container's variables without those that the operator sets."""
    found = container.children("env")
    if len(found) > _MAX_ENV:
        raise container.refusal("env", f"must not be more than {_MAX_ENV}")
    kept: list[Manifest] = []
    for item in found:
        variable = _variable(item)
        name = variable["name"]
        if name in RESERVED:
            was = f" (it was {variable['value']!r})" if "value" in variable else ""
            container.note(f"env.{name}", f"it is not a template's to set{was}", _instead(name))
        else:
            kept.append(variable)
    return _once(container, kept)


def overridden(old: Sequence[Manifest], new: Sequence[Manifest]) -> list[Manifest]:
    """The old variables with the new ones in their places, and all others after them.

    Kubernetes fills `$(NAME)` in from what stands before it: so the order is a part of the meaning,
    and Kubeflow merges in this way.
    """
    named = {item["name"]: item for item in new}
    there = {item["name"] for item in old}
    return [
        *(named.get(item["name"], item) for item in old),
        *(item for item in new if item["name"] not in there),
    ]


def _once(container: Source, found: list[Manifest]) -> list[Manifest]:
    """Each name once, at its last place; who refers to one of before gets that one's value."""
    last = {item["name"]: number for number, item in enumerate(found)}
    before: dict[str, Manifest] = {}
    kept: list[Manifest] = []
    for number, item in enumerate(found):
        filled = _filled(container, item, before)
        if last[item["name"]] == number:
            before.pop(item["name"], None)
            kept.append(filled)
        else:
            before[item["name"]] = filled
            container.note(f"env.{item['name']}", "it is set twice", "the last of them was kept")
    return kept


def _filled(container: Source, item: Manifest, before: dict[str, Manifest]) -> Manifest:
    """The variable with the values of those that are left out, where it refers to them."""

    def value(found: re.Match[str]) -> str:
        other = before.get(found[1] or "")
        if other is None:
            return found[0]
        if "valueFrom" in other:
            container.note(
                f"env.{item['name']}",
                f"it refers to the first of two {found[1]}, which is left out",
                "give one of them another name",
            )
            return found[0]
        return str(other.get("value") or "")

    text = item.get("value")
    return item if text is None else {**item, "value": _REFERENCE.sub(value, text)}


def _instead(name: str) -> str:
    if name in COUNTS:
        return _COUNTED
    where = _READ if name.startswith(_OWN) else _READ_WHERE
    return f"{where}; {_COUNTING}" if name in {"RANK", "WORLD_SIZE"} else where


def _variable(item: Source) -> Manifest:
    name = item.text("name")
    if name is None or len(name) > _MAX_NAME:
        raise item.refusal("name", f"must be a name of at most {_MAX_NAME} characters")
    value = item.take("value")
    if not isinstance(value, str | None):
        raise item.refusal("value", "must be text: put it in quotes")
    others = item.rest()
    if name not in RESERVED:
        _look_at(item, others)
    return {"name": name, **({} if value is None else {"value": value}), **others}


def _look_at(item: Source, others: Manifest) -> None:
    """Tell of a variable that takes what only pods of another operator have."""
    source: Any = others.get("valueFrom")
    field = source.get("fieldRef") if isinstance(source, dict) else None
    path = str(field.get("fieldPath")) if isinstance(field, dict) else ""
    if any(word in path for word in _FOREIGN):
        item.note(
            "valueFrom",
            f"the pods have no {path}",
            f"the instance's number is in metadata.labels['{labels.RANK}']",
        )
