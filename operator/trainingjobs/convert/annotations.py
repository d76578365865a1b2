"""Labels and annotations: who they are for, and what they say of the container that trains.

They all stay. Of those that nobody reads any more it is told, and those that name the container
name it as it is called now.
"""

from collections.abc import Mapping

from trainingjobs.convert.source import BY_HAND, Source
from trainingjobs.model import labels
from trainingjobs.model.spec import Manifest

_OF_CONTAINER = "container."
"""How the keys begin that end with a container's name, of AppArmor and seccomp."""
_KUBECTL = "kubectl.kubernetes.io"
_NAMING = (f"{_KUBECTL}/default-container", f"{_KUBECTL}/default-logs-container")
_PAGE = "see docs/howto/kueue.md"
_READERS: Mapping[str, tuple[str, str]] = {
    "kueue.x-k8s.io": ("Kueue knows no TrainingJob yet: it does nothing", _PAGE),
    "jobset.sigs.k8s.io": ("JobSet alone reads it", "write affinity into the template for a place"),
    "kubeflow.org": ("Kubeflow alone reads it", BY_HAND),
}


def tell_unread(metadata: Source, field: str, found: Mapping[str, str]) -> None:
    """Tell of labels or annotations that a controller reads which does not see this job."""
    for name in found:
        domain = name.partition("/")[0]
        for reader, told in _READERS.items():
            if domain == reader or domain.endswith(f".{reader}"):
                metadata.note(f"{field}.{name}", *told)


def renamed(metadata: Source, notes: Mapping[str, str], old: str) -> Manifest:
    """A pod's annotations in which the training container has its new name.

    Args:
        metadata: for notes.
        notes: the annotations.
        old: what the container was called.
    """
    found: Manifest = {}
    for name, value in notes.items():
        domain, _, of = name.partition("/")
        if domain.startswith(_OF_CONTAINER) and of == old:
            found[f"{domain}/{labels.TRAINER}"] = value
            continue
        named = old in [word.strip() for word in value.split(",")]
        found[name] = labels.TRAINER if name in _NAMING and value == old else value
        if named and name not in _NAMING and "container" in name and old != labels.TRAINER:
            metadata.note(
                f"annotations.{name}",
                f"it names {old}, which is called {labels.TRAINER} here",
                "change it, if that is meant",
            )
    return found
