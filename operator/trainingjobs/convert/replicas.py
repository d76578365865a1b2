"""Kubeflow's first generation: PyTorchJob, TFJob, JAXJob. Replicas by role become one group."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from trainingjobs.convert import elastic, options, pods, policy
from trainingjobs.convert.group import Group
from trainingjobs.convert.pods import Pod
from trainingjobs.convert.source import NotConvertible, Source
from trainingjobs.model.limits import MAX_INSTANCES
from trainingjobs.model.spec import Framework, Manifest, SuccessPolicy

_NO_PLACE = {
    "PS": "parameter servers have no place in a group of one master and workers: use "
    "MultiWorkerMirroredStrategy, or keep the TFJob",
}
_RANK = (
    "RANK was the pod's number there, and is the first rank of the instance here",
    "read NODE_RANK for the number; processes that torchrun starts get a RANK of their own",
)
_JAX = (
    "COORDINATOR_ADDRESS, COORDINATOR_PORT, NUM_PROCESSES and PROCESS_ID are not set here",
    "initialize() needs no argument; else read JAX_COORDINATOR_ADDRESS, JAX_NUM_PROCESSES …",
)
_TOLD = {
    "enableDynamicWorker": (
        "every instance knows all others",
        "leave it out; a size that changes restarts the group",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What one kind calls its parts."""

    framework: Framework
    field: str
    container: str
    port: str
    masters: tuple[str, ...] = ("Master",)


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "PyTorchJob": Kind(
            framework=Framework.PYTORCH,
            field="pytorchReplicaSpecs",
            container="pytorch",
            port="pytorchjob-port",
        ),
        "TFJob": Kind(
            framework=Framework.TENSORFLOW,
            field="tfReplicaSpecs",
            container="tensorflow",
            port="tfjob-port",
            masters=("Chief", "Master"),
        ),
        "JAXJob": Kind(
            framework=Framework.JAX,
            field="jaxReplicaSpecs",
            container="jax",
            port="jaxjob-port",
            masters=(),
        ),
    }
)


@dataclass(frozen=True, slots=True)
class Part:
    """Replicas of one role."""

    role: str
    source: Source
    count: int
    pod: Pod


def group(kind: Kind, job: Source) -> Group:
    """The group that the job describes."""
    spec = job.child("spec")
    life = policy.run_policy(spec.child("runPolicy"))
    specs = spec.child(kind.field)
    parts = _parts(specs, kind, grows=bool(spec.peek("elasticPolicy", "maxReplicas")))
    size = sum(part.count for part in parts)
    masters = sum(part.count for part in parts if part.role in kind.masters)
    stretch = elastic.fields(spec, size, masters=masters)
    own = stretch.pop("maxRestarts", None)
    limit = own if life.backoff_limit is None else life.backoff_limit
    if own is not None:
        _tell_of_restarts(spec, own, limit)
    fields = {
        **pods.listening(parts[0].pod, kind.port, parts[0].source),
        **stretch,
        **_own(spec),
        **policy.restarts([part.source for part in parts], limit, never_ends_it=own is None),
        **life.fields,
    }
    _tell_of_variables(spec, kind, parts[-1].pod, fields.get("processesPerInstance"))
    for part in parts:
        part.source.close()
    spec.close()
    templates = [policy.prioritised(part.pod.template, life.priority) for part in parts]
    return Group(
        framework=kind.framework,
        instances=size,
        template=templates[-1],
        master=templates[0],
        fields=fields,
        labels=life.labels,
    )


def by_role(specs: Source, names: Sequence[str]) -> dict[str, Source]:
    """The replicas of each role; the case of a role's name does not matter."""
    right = {name.lower(): name for name in names}
    found: dict[str, Source] = {}
    for name in specs.names():
        role = right.get(name.lower(), name)
        if role in found:
            raise specs.refusal(name, f"there is a {role} already")
        empty = specs.look(name) is None or (
            role not in names and specs.peek(name, "replicas") == 0
        )
        replica = specs.child(name)
        if empty:
            continue
        if role not in names:
            raise specs.refusal(name, _NO_PLACE.get(name, "no such role is known"))
        found[role] = replica
    return found


def count(replica: Source) -> int:
    """How many there are; one where that is not said."""
    found = replica.number("replicas", most=MAX_INSTANCES)
    return 1 if found is None else found


def _parts(specs: Source, kind: Kind, *, grows: bool) -> list[Part]:
    """The master, if one is there, and then the workers, if some are or may come."""
    found = by_role(specs, (*kind.masters, "Worker", "Evaluator"))
    if "Evaluator" in found:
        found.pop("Evaluator")
        specs.note("Evaluator", "an evaluator is no part of the group", "make it a job of its own")
    masters = [name for name in kind.masters if name in found]
    if len(masters) > 1:
        raise specs.refusal(masters[1], f"there is a {masters[0]} already")
    parts = [_part(name, found[name], kind) for name in (*masters, "Worker") if name in found]
    there = [part for part in parts if part.count or (grows and part.role == "Worker")]
    if not any(part.count for part in there):
        raise NotConvertible(f"{specs.path}: no replica is there")
    if kind.framework is Framework.TENSORFLOW and not masters:
        specs.note("Worker", "the first worker is the chief here", "TF_CONFIG says so to all")
    if masters and parts[0].count > 1:
        raise specs.refusal(masters[0], "there can be one alone")
    return there


def _part(role: str, replica: Source, kind: Kind) -> Part:
    size = count(replica)
    return Part(role, replica, size, pods.converted(replica.child("template"), [kind.container]))


def _tell_of_restarts(spec: Source, own: int, limit: int) -> None:
    taken = "it became spec.maxRestarts" if limit == own else "the backoffLimit was taken"
    spec.note(
        "elasticPolicy.maxRestarts",
        f"torchrun was to start its processes anew {own} times in their pods: {taken}, which "
        "counts restarts of the whole group",
        "give torchrun --max-restarts for the old way, as in examples/08-torchrun-elastic",
    )


def _tell_of_variables(spec: Source, kind: Kind, pod: Pod, processes: int | str | None) -> None:
    """Tell of what the other operator's variables meant, where it is something else here."""
    if kind.framework is Framework.JAX:
        spec.note(kind.field, *_JAX)
    several = kind.framework is Framework.PYTORCH and processes not in {None, 1}
    if several and options.rank_is_read(pod.template):
        spec.note("nprocPerNode", *_RANK)


def _own(spec: Source) -> Manifest:
    """Fields that one kind alone has."""
    spec.told(_TOLD)
    processes = spec.take("nprocPerNode")
    policies = {None: None, "AllWorkers": SuccessPolicy.ALL_INSTANCES.value}
    success = spec.text("successPolicy")
    if success not in policies:
        raise spec.refusal("successPolicy", "must be AllWorkers or empty")
    return policy.present(
        {
            "processesPerInstance": policy.processes(spec, "nprocPerNode", processes),
            "successPolicy": policies[success],
        }
    )
