"""MPIJob, of both APIs: the launcher's command on the workers' pods.

A launcher is a pod of its own that runs no rank. Here the master is the first of the workers: it
runs the command, and mpirun puts ranks on it as on all others.
"""

import re
from typing import Any

from trainingjobs.convert import pods, policy, replicas
from trainingjobs.convert.group import Group
from trainingjobs.convert.pods import Pod
from trainingjobs.convert.source import Source
from trainingjobs.model import labels
from trainingjobs.model.spec import Framework, Manifest
from trainingjobs.model.text import cut

_FEW = 80
_V1 = "kubeflow.org/v1"
_COMMAND = ("command", "args", "workingDir")
_FROM_LAUNCHER = ("name", "image", "env", "envFrom", "volumeMounts", *_COMMAND)
_PROBES = ("startupProbe", "readinessProbe", "livenessProbe", "lifecycle")
_SSHD = re.compile(
    r"(\S*sh -l?c )?(mkdir -p /\S*sshd\s*(;|&&)\s*)?(exec )?(\S*/)?(sshd|sleep)\b[^;&|\n]*[;\s]*"
)
"""What a worker runs that only waits for its launcher."""
_TOLD = {
    "sshAuthMountPath": ("there is no ssh: the operator starts the ranks", "leave it out"),
    "mpiImplementation": (
        "OpenMPI, MPICH and Intel MPI are all told what they need",
        "leave it out",
    ),
    "launcherCreationPolicy": ("the launcher waits for its workers", "leave it out"),
}


def group(job: Source, api: str) -> Group:
    """The group that the job describes."""
    spec = job.child("spec")
    main = spec.text("mainContainer")
    life = policy.run_policy(spec.child("runPolicy"))
    clean = policy.clean_pods(spec)
    slots = spec.number("slotsPerWorker", least=1, most=policy.PROCESSES.stop - 1)
    also = spec.flag("runLauncherAsWorker")
    spec.told(_TOLD)
    specs = spec.child("mpiReplicaSpecs")
    found = replicas.by_role(specs, ("Launcher", "Worker"))
    launcher = found.get("Launcher")
    if launcher is None:
        raise specs.refusal("Launcher", "an MPIJob has one")
    names = [name for name in (main, "mpi", "mpi-launcher", "launcher") if name]
    first = pods.converted(launcher.child("template"), names)
    replicas.count(launcher)
    workers, size = _workers(found.get("Worker"), names)
    fields = {
        **policy.present({"processesPerInstance": slots, "cleanPodPolicy": clean}),
        **policy.restarts([launcher], life.backoff_limit, never_ends_it=api == _V1),
        **life.fields,
    }
    template = first.template if workers is None else launched(launcher, first, workers)
    launcher.close()
    spec.close()
    return Group(
        framework=Framework.MPI,
        instances=_size(specs, size, also=also),
        template=policy.prioritised(template, life.priority),
        fields=fields,
        labels=life.labels,
    )


def launched(launcher: Source, first: Pod, worker: Pod) -> Manifest:
    """The workers' template with what the launcher runs, and what it needs for that."""
    main, own = first.main, worker.main
    command = {name: main[name] for name in _COMMAND if name in main}
    lists = {
        name: _joined(launcher, own, main, name) for name in ("env", "volumeMounts", "envFrom")
    }
    rest = {name: value for name, value in own.items() if name not in (*_COMMAND, *lists)}
    done = {**rest, **command, **{name: items for name, items in lists.items() if items}}
    _tell_others(launcher, first, worker)
    _tell_of_worker(launcher, own)
    if not command.get("command"):
        launcher.note("template", "the launcher has no command", "write it: mpirun and the program")
    spec, taken = worker.template["spec"], first.template["spec"]
    containers = [done if item is own else item for item in spec["containers"]]
    volumes = _joined(launcher, spec, taken, "volumes")
    new = {**spec, "containers": containers, **({"volumes": volumes} if volumes else {})}
    return {**worker.template, "spec": new}


def _workers(worker: Source | None, names: list[str]) -> tuple[Pod | None, int]:
    size = 0 if worker is None else replicas.count(worker)
    if worker is None or not size:
        return None, 0
    pod = pods.converted(worker.child("template"), ["mpi-worker", "worker", *names])
    worker.take("restartPolicy")
    worker.close()
    return pod, size


def _size(specs: Source, workers: int, *, also: bool) -> int:
    if workers and not also:
        specs.note(
            "Launcher",
            "the launcher was a pod without ranks; here the first instance runs its command, and "
            "ranks as well",
            "mpirun needs no -np and no hostfile; -np may not be more than all slots",
        )
    return workers + (1 if also or not workers else 0)


def _joined(launcher: Source, own: Manifest, main: Manifest, name: str) -> list[Any]:
    """Both lists; of two things of one name the launcher's, which is told."""
    key = "mountPath" if name == "volumeMounts" else "name"
    mine, theirs = own.get(name) or [], main.get(name) or []
    if name == "envFrom":
        return [*mine, *(item for item in theirs if item not in mine)]
    named = {item.get(key): item for item in theirs}
    for item in mine:
        other = named.get(item.get(key), item)
        if other != item:
            launcher.note(
                f"{name}.{item.get(key)}", "the worker's is another", "the launcher's was taken"
            )
    # the launcher's first: in its order its variables mean what they meant
    return [*theirs, *(item for item in mine if item.get(key) not in named)]


def _tell_of_worker(launcher: Source, own: Manifest) -> None:
    """Tell of what the workers' container ran, and of who looked whether it does."""
    said = [own.get(name) for name in ("command", "args")]
    text = " ".join(str(word) for items in said if isinstance(items, list) for word in items)
    if text and not _SSHD.fullmatch(text):
        launcher.note(
            "template.command",
            f"the workers' own command is left out: {cut(text, _FEW)}",
            "each worker waits for the launcher's ranks; what has to run before belongs into an "
            "init container",
        )
    for name in _PROBES:
        if own.get(name):
            launcher.note(
                f"template.{name}",
                "the workers' was kept, and there is no sshd to be asked",
                "leave it out if it looks for sshd",
            )


def _tell_others(launcher: Source, first: Pod, worker: Pod) -> None:
    """Tell of what is left of the launcher's template."""
    main, own = first.main, worker.main
    for name, value in main.items():
        if name != "name" and name not in _FROM_LAUNCHER and own.get(name) != value:
            launcher.note(
                f"template.{name}", "the workers' container counts", "see if it lacks this"
            )
    if main.get("image") != own.get("image"):
        launcher.note("template.image", "the workers' image was taken", "see if it has the program")
    for name, value in first.template["spec"].items():
        same = worker.template["spec"].get(name) == value
        if name not in {"containers", "volumes"} and not same:
            launcher.note(
                f"template.spec.{name}", "the workers' pod counts", "see if it lacks this"
            )
    if first.template.get("metadata") not in (None, worker.template.get("metadata")):
        launcher.note("template.metadata", "the workers' pod counts", "see if it lacks this")
    if len(first.template["spec"]["containers"]) > 1:
        launcher.note(
            "template.spec.containers",
            f"all but {labels.TRAINER} are left out",
            "put what is needed beside the worker",
        )
