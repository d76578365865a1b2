"""Variables of a container: those that make the group go, all others stay."""

from typing import Any

from trainingjobs.convert.source import Source
from trainingjobs.convert.traces import COUNTS
from trainingjobs.model.reserved import RESERVED
from trainingjobs.model.spec import Manifest

_MAX_ENV = 1000
_MAX_NAME = 1024
_FOREIGN = ("completion-index", "training.kubeflow.org/", "jobset.sigs.k8s.io/", "volcano.sh/")
"""What pods of other operators are labelled with, and ours are not."""

_OWN = ("TF_CONFIG", "JAX_")
_READ = "read it as before"
_READ_WHERE = (
    f"{_READ} with framework PyTorch; TensorFlow has TF_CONFIG, JAX and MPI names of their own"
)
_COUNTED = "it comes from spec.processesPerInstance: see that N stands there"


def converted(container: Source) -> list[Manifest]:
    """The container's variables without those that the operator sets."""
    found = container.children("env")
    if len(found) > _MAX_ENV:
        raise container.refusal("env", f"must not be more than {_MAX_ENV}")
    kept: dict[str, Manifest] = {}
    for item in found:
        variable = _variable(item)
        name = variable["name"]
        if name in RESERVED:
            was = f" (it was {variable['value']!r})" if "value" in variable else ""
            container.note(f"env.{name}", f"it is not a template's to set{was}", _instead(name))
            continue
        if name in kept:
            container.note(f"env.{name}", "it is set twice", "the last of them was kept")
        kept[name] = variable
    return list(kept.values())


def _instead(name: str) -> str:
    if name in COUNTS:
        return _COUNTED
    return _READ if name.startswith(_OWN) else _READ_WHERE


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
        item.note("valueFrom", f"the pods have no {path}", "read RANK or NODE_RANK, which they get")
