"""One TrainingJob, parsed: past this door its values are right and nobody checks again."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from trainingjobs.model import containers, labels, names
from trainingjobs.model.limits import MAX_RANKS
from trainingjobs.model.spec import Manifest, Spec
from trainingjobs.model.status import Status
from trainingjobs.model.times import parse_time


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingJob:
    """What the user asks for, who it is, and what was last said of it."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    generation: int
    created: datetime | None
    deleting: bool
    labels: Mapping[str, str]
    spec: Spec
    status: Status

    @property
    def size(self) -> int:
        """Number of instances: one master and the workers.

        An elastic group keeps the size that its attempt was planned with.
        """
        if self.spec.elastic is not None and self.status.group_size:
            return self.status.group_size
        return self.spec.parallel_instances

    @property
    def ours(self) -> bool:
        """False where `managedBy` names another controller."""
        return self.spec.managed_by in {None, labels.OPERATOR}

    @property
    def attempt(self) -> int:
        """The attempt that runs or is about to; the first is 1."""
        return max(self.status.attempt, 1)

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name."""
        return self.namespace, self.name

    @property
    def plan_hash(self) -> str:
        """A digest of all that the pods of an attempt are made from, but for an elastic size."""
        spec = self.spec
        size = None if spec.elastic is not None else spec.parallel_instances
        parts = [size, spec.framework, spec.processes_per_instance, spec.port]
        text = json.dumps([*parts, spec.template, spec.master_template], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def template(self, rank: int) -> Manifest:
        """The user's pod template for one rank."""
        if rank == names.MASTER_RANK and self.spec.master_template is not None:
            return self.spec.master_template
        return self.spec.template


@dataclass(frozen=True, slots=True)
class Invalid:
    """A body that the models refuse: all errors with their paths, not the first alone."""

    errors: tuple[str, ...]

    def __str__(self) -> str:
        return "; ".join(self.errors)


def parse(body: Mapping[str, Any]) -> TrainingJob | Invalid:
    """The job in a manifest, or what is wrong with it.

    The API server has checked the same rules; this door stays for a resource definition
    that is older or newer than the operator.
    """
    metadata = body["metadata"]
    try:
        spec = Spec.model_validate(body.get("spec", {}))
    except ValidationError as error:
        return _invalid("spec", error)
    if (ranks := _most_ranks(spec)) > MAX_RANKS:
        words = f"{ranks} ranks in all, {MAX_RANKS} are the most: lower processesPerInstance"
        return Invalid((f"spec: {words}, or the limits that auto counts",))
    try:
        status = Status.model_validate(body.get("status") or {})
    except ValidationError as error:
        return _invalid("status", error)
    return TrainingJob(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        resource_version=metadata.get("resourceVersion", ""),
        generation=metadata.get("generation", 0),
        created=parse_time(metadata.get("creationTimestamp")),
        deleting="deletionTimestamp" in metadata,
        labels=metadata.get("labels") or {},
        spec=spec,
        status=status,
    )


def _most_ranks(spec: Spec) -> int:
    instances = spec.elastic.max_instances if spec.elastic else spec.parallel_instances
    return instances * containers.processes(spec)


def _invalid(part: str, error: ValidationError) -> Invalid:
    details = error.errors(include_input=False, include_url=False)
    paths = (".".join([part, *map(str, item["loc"])]) for item in details)
    return Invalid(
        tuple(f"{path}: {item['msg']}" for path, item in zip(paths, details, strict=True))
    )
