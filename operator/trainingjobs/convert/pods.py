"""A foreign pod template as one that a TrainingJob may hold.

The container that trains gets its name, what makes the group is the operator's to set, and
everything else stays as it was.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from trainingjobs.convert import annotations, variables
from trainingjobs.convert.source import Source
from trainingjobs.model import labels
from trainingjobs.model.spec import Manifest

_MAX_CONTAINERS = 100
_MAX_NAME = 63
PORTS = range(1024, 65536)
"""What spec.port may be."""
_SET_BY_US = "the operator sets it, so that ranks find each other"


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod template that is ready."""

    template: Manifest

    @property
    def main(self) -> Manifest:
        """The training container."""
        found: list[Manifest] = self.template["spec"]["containers"]
        return next(item for item in found if item["name"] == labels.TRAINER)


def converted(template: Source, names: Sequence[str]) -> Pod:
    """The template with the training container called `trainer`.

    Args:
        template: the foreign pod template.
        names: what the other operator calls the training container; else it is the first.

    Raises:
        NotConvertible: when it is no pod template.
    """
    about, spec = template.child("metadata"), template.child("spec")
    metadata = _metadata(about)
    template.close()
    order = spec.names()
    _restarts(spec)
    for field in ("hostname", "subdomain"):
        spec.told({field: (_SET_BY_US, "use MASTER_ADDR, which the pods get")})
    found = _containers(spec, "containers")
    if not found:
        raise spec.refusal("containers", "a pod needs one at least")
    old = _training(spec, [item["name"] for item in found], names)
    helpers = _containers(spec, "initContainers")
    renamed = [item | {"name": labels.TRAINER} if item["name"] == old else item for item in found]
    lists = {"containers": renamed, "initContainers": helpers}
    pod = _ordered(order, lists | {"volumes": _named(spec, "volumes", "name")} | spec.rest())
    if "annotations" in metadata:
        metadata["annotations"] = annotations.renamed(about, metadata["annotations"], old)
    parts = {"metadata": metadata} if metadata else {}
    return Pod({**parts, "spec": _referring(pod, old)})


def _metadata(metadata: Source) -> Manifest:
    metadata.take("creationTimestamp")
    found = {name: metadata.texts(name) for name in ("labels", "annotations")}
    for name in metadata.names():
        metadata.told({name: ("pods are named by the operator", "use labels or annotations")})
    for name, texts in found.items():
        annotations.tell_unread(metadata, name, texts)
    return {name: texts for name, texts in found.items() if texts}


def _restarts(spec: Source) -> None:
    policy = spec.text("restartPolicy")
    if policy not in {None, "Never"}:
        spec.note(
            "restartPolicy",
            f"{policy} would restart one rank alone, and the others would hang",
            "the operator restarts the whole group, as spec.maxRestarts says",
        )


def _containers(spec: Source, field: str) -> list[Manifest]:
    found = spec.children(field)
    if len(found) > _MAX_CONTAINERS:
        raise spec.refusal(field, f"must not be more than {_MAX_CONTAINERS}")
    done = [_container(item) for item in found]
    if len({item["name"] for item in done}) != len(done):
        raise spec.refusal(field, "two have the same name")
    return done


def _container(container: Source) -> Manifest:
    order = container.names()
    name = container.text("name")
    if name is None or len(name) > _MAX_NAME:
        raise container.refusal("name", f"must be a name of at most {_MAX_NAME} characters")
    lists: Manifest = {
        "env": variables.converted(container),
        "envFrom": [item.rest() for item in container.children("envFrom")],
        "ports": [item.rest() for item in container.children("ports")],
        "volumeMounts": _named(container, "volumeMounts", "mountPath"),
    }
    return _ordered(order, {"name": name} | lists | container.rest())


def _ordered(names: Iterable[str], fields: Manifest) -> Manifest:
    """The fields in the order that they had; without empty lists."""
    return {name: fields[name] for name in names if fields.get(name) not in (None, [])}


def _named(holder: Source, field: str, key: str) -> list[Manifest]:
    """A list of mappings that are told apart by one of their fields."""
    done: list[Manifest] = []
    for item in holder.children(field):
        found = item.rest()
        if not isinstance(found.get(key), str):
            raise item.refusal(key, "must be text")
        done.append(found)
    return done


def _training(spec: Source, there: Sequence[str], names: Sequence[str]) -> str:
    """The name of the container that trains."""
    found = next((name for name in (*names, labels.TRAINER) if name in there), there[0])
    if found != labels.TRAINER and labels.TRAINER in there:
        raise spec.refusal(
            "containers", f"{found} trains, and another is called {labels.TRAINER}: rename that one"
        )
    others = len(there) > 1 and found not in (*names, labels.TRAINER)
    if others:
        spec.note(
            "containers",
            f"which of them trains is not said: {found}, the first, was taken",
            f"call the one that trains {labels.TRAINER}",
        )
    return found


def _referring(value: Any, old: str) -> Any:
    """The value in which what refers to the training container does so by its new name."""
    if isinstance(value, list):
        return [_referring(item, old) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: labels.TRAINER if name == "containerName" and item == old else _referring(item, old)
        for name, item in value.items()
    }


def listening(pod: Pod, named: str, told: Source) -> dict[str, int]:
    """The rendezvous port, where the training container declares it under the operator's name."""
    ports = pod.main.get("ports") or []
    port = next((item.get("containerPort") for item in ports if item.get("name") == named), None)
    if port is None:
        return {}
    if isinstance(port, int) and port in PORTS:
        return {"port": port}
    told.note("ports", f"{named} is no port from 1024 to 65535", "spec.port has its default, 29500")
    return {}
