"""Kubeflow's second generation: a TrainJob on a runtime, which may be in the same input."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from trainingjobs.convert import jobset, mpi, pods, policy, variables
from trainingjobs.convert.bounds import bounded
from trainingjobs.convert.group import Group
from trainingjobs.convert.source import Source
from trainingjobs.model.limits import MAX_INSTANCES
from trainingjobs.model.spec import Framework, Manifest

_AUTO = "auto"
"""What Kubeflow takes for torch where nobody says another number."""
_LAUNCHER = "launcher"
_CLUSTER = "ClusterTrainingRuntime"
RUNTIMES = frozenset({"TrainingRuntime", _CLUSTER})
Key = tuple[str, str, str]
Runtimes = Mapping[Key, Manifest]
"""Runtimes by kind, namespace and name."""
_FRAMEWORKS: Mapping[str, Framework] = MappingProxyType(
    {
        "torch": Framework.PYTORCH,
        "jax": Framework.JAX,
        "mpi": Framework.MPI,
        "deepspeed": Framework.MPI,
        "mlx": Framework.MPI,
    }
)
"""By the policy of a runtime, or by the words in the names of those that Kubeflow ships."""
_IN_TEMPLATE = ("what it would change is in the template here", "write it into spec.template")
_TOLD = {
    "initializer": (
        "nothing is fetched before the training starts",
        "use an init container, or let rank 0 fetch and the others wait in a barrier",
    ),
    **dict.fromkeys(("runtimePatches", "podTemplateOverrides", "podSpecOverrides"), _IN_TEMPLATE),
    **dict.fromkeys(("labels", "annotations"), _IN_TEMPLATE),
}
_MPI_TOLD = {
    "runLauncherAsNode": ("the first instance runs the launcher and ranks", "see docs/mpi.md"),
    "mpiImplementation": ("Open MPI, MPICH and Intel MPI all know their hosts", "leave it out"),
    "sshAuthMountPath": ("there is no ssh: the operator starts the ranks", "leave it out"),
}
_RUNTIME_TOLD = {
    "podGroupPolicy": (
        "a scheduler is told what the group is where the template names one",
        "see docs/placement.md",
    ),
}


@dataclass(frozen=True, slots=True)
class Base:
    """What a runtime gives, or nothing where it was not seen."""

    template: Manifest
    instances: int | None
    processes: int | str | None
    framework: Framework | None
    guess: str | None = None
    """Processes in each instance, where nothing tells of them."""


def key(kind: str, metadata: Manifest) -> Key:
    """What tells a runtime from all others; one of the cluster has no namespace."""
    namespace = "" if kind == _CLUSTER else str(metadata.get("namespace") or "")
    return kind, namespace, str(metadata.get("name"))


def group(job: Source, runtimes: Runtimes) -> Group:
    """The group that the job describes."""
    spec = job.child("spec")
    reference = spec.child("runtimeRef")
    named = {"name": reference.text("name") or "", "namespace": job.peek("metadata", "namespace")}
    wanted_key = key(reference.text("kind") or _CLUSTER, named)
    trainer = spec.child("trainer")
    base = _base(spec, wanted_key, runtimes)
    nodes = trainer.number("numNodes", least=1, most=MAX_INSTANCES)
    wanted = trainer.take("numProcPerNode")
    processes = policy.processes(trainer, "numProcPerNode", wanted) or base.processes
    template = _trained(base.template, trainer)
    fields = {
        "processesPerInstance": processes,
        "activeDeadlineSeconds": spec.number("activeDeadlineSeconds", least=1),
        "suspend": spec.flag("suspend") or None,
        "managedBy": policy.managed_by(spec),
    }
    spec.told(_TOLD)
    trainer.close()
    spec.close()
    return Group(
        framework=base.framework or Framework.PYTORCH,
        instances=nodes or base.instances or 1,
        template=template,
        fields=policy.present(fields),
        sources=[runtimes[wanted_key]] if wanted_key in runtimes else [],
        guess=base.guess,
    )


def _base(spec: Source, wanted: Key, runtimes: Runtimes) -> Base:
    name = wanted[-1]
    if wanted not in runtimes:
        spec.note(
            "runtimeRef",
            f"what the runtime {name} adds was not seen",
            "give its manifest in the same input, or write it into spec.template",
        )
        found = next((kind for word, kind in _FRAMEWORKS.items() if word in name), None)
        if "xgboost" in name:
            raise spec.refusal("runtimeRef", "XGBoost has no place here: no such framework")
        if found is None:
            spec.note("runtimeRef", "PyTorch was taken", "set spec.framework if it is another")
        each = _AUTO if found is Framework.PYTORCH else None
        return Base({"spec": {"containers": [{"name": "trainer"}]}}, None, None, found, each)
    bounded(runtimes[wanted])
    runtime = Source(runtimes[wanted], f"runtime {name}", spec.notes)
    found_spec = runtime.child("spec")
    base = _of_runtime(found_spec)
    found_spec.told(_RUNTIME_TOLD)
    found_spec.close()
    return base


def _of_runtime(spec: Source) -> Base:
    policies = spec.child("mlPolicy")
    nodes = policies.number("numNodes", least=1, most=MAX_INSTANCES)
    kinds = [name for name in policies.names() if name in _FRAMEWORKS]
    own = policies.child(kinds[0]) if kinds else policies.child("torch")
    processes = policy.processes(own, "numProcPerNode", own.take("numProcPerNode"))
    framework = _FRAMEWORKS[kinds[0]] if kinds else None
    own.told(_MPI_TOLD if framework is Framework.MPI else {})
    own.close()
    policies.close()
    template = spec.child("template")
    template.take("metadata")
    inner = template.child("spec")
    found = jobset.parts(inner, ("node",))
    node = next((item for item in found if item.name == "node"), found[-1])
    launcher = next((it for it in found if it.name == _LAUNCHER and it is not node), None)
    leads = launcher if framework is Framework.MPI else None
    for item in found:
        if item not in (node, leads):
            inner.note(
                f"replicatedJobs.{item.name}",
                "the pods called node train, and no others run",
                "see what the job needs of it",
            )
    inner.told(jobset.TOLD)
    inner.take("successPolicy")
    inner.close()
    template.close()
    pod = mpi.launched(leads.source, leads.pod, node.pod) if leads else node.pod.template
    guess = _AUTO if framework is Framework.PYTORCH else None
    return Base(pod, nodes or node.count, processes, framework, guess)


def _trained(template: Manifest, trainer: Source) -> Manifest:
    """The runtime's template with what the job says of its trainer."""
    pod = pods.Pod(template)
    said = {name: trainer.take(name) for name in ("image", "command", "args")}
    new: Manifest = {name: value for name, value in said.items() if value}
    if said["command"] and not said["args"] and pod.main.get("args"):
        why = "the runtime's args belong to its own command"
        trainer.note("command", why, "write them into spec.template")
        new["args"] = None
    resources = trainer.child("resourcesPerNode").rest()
    env = variables.overridden(pod.main.get("env") or [], variables.converted(trainer))
    more = {"env": env} if env else {}
    both = {**pod.main, **new, **({"resources": resources} if resources else {}), **more}
    main = {name: value for name, value in both.items() if value is not None}
    if not main.get("image"):
        raise trainer.refusal(
            "image",
            "it comes from the runtime: give the runtime's manifest in the same input, or set it",
        )
    items = [main if item is pod.main else item for item in template["spec"]["containers"]]
    return {**template, "spec": {**template["spec"], "containers": items}}
