"""The group that a foreign job describes, and the TrainingJob that is made of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trainingjobs.convert import annotations
from trainingjobs.convert.source import NotConvertible, Source
from trainingjobs.model import labels
from trainingjobs.model.job import Invalid, parse
from trainingjobs.model.limits import MAX_INSTANCES
from trainingjobs.model.spec import Framework, Manifest

MAX_TENSORFLOW = 500
_FROM_SERVER = {
    "uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink",
    "deletionTimestamp", "deletionGracePeriodSeconds",
}  # fmt: skip
_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_METADATA = {
    "ownerReferences": ("the owner owns the old job", "let it make the new one"),
    "finalizers": ("they are another controller's", "add what the new job needs"),
}


@dataclass(frozen=True, kw_only=True)
class Group:
    """What makes a TrainingJob, in its own words."""

    framework: Framework
    instances: int
    template: Manifest
    master: Manifest | None = None
    """The master's template, where it is another."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the spec."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels that the job gets beside its own."""
    sources: Sequence[Manifest] = ()
    """Further manifests that tell of the job, as they are."""
    guess: str | None = None
    """How many processes an instance has, where nothing that the pods run tells of it."""


def manifest(job: Source, group: Group) -> Manifest:
    """The TrainingJob.

    Raises:
        NotConvertible: when a TrainingJob may not be so.
    """
    _check(job, group)
    differs = group.master is not None and group.master != group.template
    spec = {
        "PARALLEL_INSTANCES": group.instances,
        "framework": group.framework.value,
        **group.fields,
        "template": group.template,
        **({"masterTemplate": group.master} if differs else {}),
    }
    metadata = _metadata(job.child("metadata"), group.labels)
    for said in ("apiVersion", "kind", "status"):
        job.take(said)
    job.close()
    _accept(metadata["name"] if "name" in metadata else metadata["generateName"], spec)
    return {
        "apiVersion": labels.API_VERSION,
        "kind": labels.KIND,
        "metadata": metadata,
        "spec": spec,
    }


def _check(job: Source, group: Group) -> None:
    most = MAX_TENSORFLOW if group.framework is Framework.TENSORFLOW else MAX_INSTANCES
    if not 1 <= group.instances <= most:
        raise job.refusal(
            "spec", f"{group.instances} instances: a TrainingJob of this kind has 1 to {most}"
        )


def _metadata(metadata: Source, more: Mapping[str, str]) -> Manifest:
    name, prefix = metadata.text("name"), metadata.text("generateName")
    if name is None and prefix is None:
        raise metadata.refusal("name", "the job has no name")
    if name is None:
        metadata.note("generateName", "kubectl apply needs a name", "use kubectl create")
    namespace = metadata.text("namespace")
    own = {**metadata.texts("labels"), **more}
    notes = metadata.texts("annotations")
    notes.pop(_APPLIED, None)
    for field_name in _FROM_SERVER:
        metadata.take(field_name)
    metadata.told(_METADATA)
    annotations.tell_unread(metadata, "labels", own)
    annotations.tell_unread(metadata, "annotations", notes)
    metadata.close()
    parts = {"name": name, "generateName": None if name else prefix, "namespace": namespace}
    return {
        **{key: value for key, value in parts.items() if value},
        **({"labels": own} if own else {}),
        **({"annotations": notes} if notes else {}),
    }


def _accept(name: str, spec: Manifest) -> None:
    """Refuse what the operator itself would."""
    body = {"metadata": {"name": name, "namespace": "default", "uid": ""}, "spec": spec}
    found = parse(body)
    if isinstance(found, Invalid):
        raise NotConvertible(f"the TrainingJob would not be valid: {found}")
