"""Single decisions of the conversion: a field in, what it becomes, or why it is refused."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from convert.valid import faults
from trainingjobs.convert.core import Converted, Other, Refused, convert
from trainingjobs.convert.documents import read

INPUTS = Path(__file__).parent / "inputs"
DELETE = object()
WORKER = "spec.pytorchReplicaSpecs.Worker"
CONTAINERS = f"{WORKER}.template.spec.containers"


def sample(name: str, **changes: Any) -> dict[str, Any]:
    """The last document of an input, with other values at dotted paths (`__` for a dot)."""
    document: dict[str, Any] = yaml.safe_load(
        yaml.safe_dump(read((INPUTS / name).read_text())[-1].value)
    )
    for path, value in changes.items():
        put(document, path, value)
    return document


def put(document: Any, path: str, value: Any) -> None:
    *parents, last = path.split(".")
    holder = document
    for key in parents:
        holder = holder[int(key)] if key.isdigit() else holder.setdefault(key, {})
    if value is DELETE:
        del holder[last]
    else:
        holder[int(last) if last.isdigit() else last] = value


def spec_of(document: Any) -> dict[str, Any]:
    result = convert(document)
    assert isinstance(result, Converted), result
    assert faults(result.manifest) == []
    spec: dict[str, Any] = result.manifest["spec"]
    return spec


@pytest.mark.parametrize(
    ("name", "path", "value", "field", "wanted"),
    [
        ("pytorchjob.yaml", "spec.nprocPerNode", "auto", "processesPerInstance", "auto"),
        ("pytorchjob.yaml", "spec.nprocPerNode", "gpu", "processesPerInstance", "auto"),
        ("pytorchjob.yaml", "spec.nprocPerNode", DELETE, "processesPerInstance", None),
        ("pytorchjob.yaml", "spec.runPolicy.cleanPodPolicy", "None", "cleanPodPolicy", "None"),
        ("pytorchjob.yaml", "spec.runPolicy.backoffLimit", 0, "maxRestarts", 0),
        ("pytorchjob.yaml", "spec.runPolicy.backoffLimit", DELETE, "maxRestarts", None),
        ("pytorchjob.yaml", "spec.runPolicy.suspend", True, "suspend", True),
        ("pytorchjob.yaml", "spec.runPolicy.managedBy", "kueue.x-k8s.io/multikueue",
         "managedBy", "kueue.x-k8s.io/multikueue"),
        ("pytorchjob.yaml", "spec.runPolicy.managedBy", "kubeflow.org/training-operator",
         "managedBy", None),
        ("pytorchjob.yaml", f"{WORKER}.replicas", 0, "PARALLEL_INSTANCES", 1),
        ("pytorchjob.yaml", "spec.pytorchReplicaSpecs.Master", DELETE, "PARALLEL_INSTANCES", 3),
        ("pytorchjob-elastic.yaml", "spec.elasticPolicy.minReplicas", 3,
         "elastic", {"minInstances": 2, "maxInstances": 4}),
        ("pytorchjob-elastic.yaml", "spec.elasticPolicy.maxReplicas", DELETE,
         "elastic", {"minInstances": 1, "maxInstances": 2}),
        ("pytorchjob-elastic.yaml", "spec.elasticPolicy.rdzvPort", 29400, "port", 29400),
        ("pytorchjob-elastic.yaml", "spec.elasticPolicy",
         {"rdzvBackend": "etcd-v2", "rdzvPort": 2379, "rdzvHost": "etcd"}, "port", None),
        ("pytorchjob-elastic.yaml", "spec.runPolicy.backoffLimit", 7, "maxRestarts", 7),
        ("pytorchjob-elastic.yaml", f"{WORKER}.restartPolicy", "Never", "maxRestarts", 100),
        ("pytorchjob-roles.yaml", "spec.elasticPolicy.maxReplicas", 6,
         "elastic", {"minInstances": 3, "maxInstances": 7}),
        ("pytorchjob-elastic.yaml", f"{WORKER}.replicas", 6,
         "elastic", {"minInstances": 1, "maxInstances": 6}),
        ("mpijob-v2beta1.yaml", "spec.mpiReplicaSpecs.Launcher.restartPolicy", "Never",
         "maxRestarts", 4),
        ("mpijob-v1.yaml", "spec.runPolicy.backoffLimit", 4, "maxRestarts", 0),
        ("tfjob.yaml", "spec.successPolicy", "", "successPolicy", None),
        ("mpijob-v2beta1.yaml", "spec.runLauncherAsWorker", True, "PARALLEL_INSTANCES", 3),
        ("mpijob-v2beta1.yaml", "spec.mpiReplicaSpecs.Worker", DELETE, "PARALLEL_INSTANCES", 1),
        ("trainjob.yaml", "spec.trainer.numNodes", DELETE, "PARALLEL_INSTANCES", 1),
        ("trainjob.yaml", "spec.runtimeRef.name", "jax-distributed", "framework", "JAX"),
        ("trainjob.yaml", "spec.runtimeRef.name", "deepspeed-distributed", "framework", "MPI"),
        ("jobset.yaml", "spec.failurePolicy", DELETE, "maxRestarts", None),
        ("jobset-leader.yaml", "spec.successPolicy", DELETE, "successPolicy", None),
        ("volcano.yaml", "spec.plugins.pytorch", ["--port=80"], "port", None),
        ("volcano.yaml", "spec.policies", [{"event": "PodFailed", "action": "AbortJob"}],
         "maxRestarts", 0),
    ],
)  # fmt: skip
def test_a_field_becomes_a_field(name: str, path: str, value: Any, field: str, wanted: Any) -> None:
    assert spec_of(sample(name, **{path: value})).get(field) == wanted


@pytest.mark.parametrize(
    ("name", "path", "value", "why"),
    [
        ("pytorchjob.yaml", "spec.pytorchReplicaSpecs.Boss", {}, "Boss: no such role is known"),
        ("pytorchjob.yaml", "spec.pytorchReplicaSpecs.Master.replicas", 2, "Master: there can be"),
        ("pytorchjob.yaml", "spec.pytorchReplicaSpecs.worker", {}, "there is a Worker already"),
        ("pytorchjob.yaml", f"{WORKER}.replicas", 10_000, "10001 instances"),
        ("pytorchjob.yaml", f"{WORKER}.replicas", "3", "replicas: must be a number from 0"),
        ("pytorchjob.yaml", f"{WORKER}.template", DELETE, "containers: a pod needs one at least"),
        ("pytorchjob.yaml", f"{CONTAINERS}.0.env.0.value", 1, "must be text: put it in quotes"),
        ("pytorchjob.yaml", f"{CONTAINERS}.0.name", "", "must be a name"),
        ("pytorchjob.yaml", "spec.pytorchReplicaSpecs", {}, "no replica is there"),
        ("pytorchjob.yaml", "spec.nprocPerNode", "many", "must be auto or a number from 1 to 1024"),
        ("pytorchjob.yaml", "metadata.name", DELETE, "metadata.name: the job has no name"),
        ("pytorchjob.yaml", "metadata.labels.team", 1, "metadata.labels: all its values must be"),
        ("pytorchjob-roles.yaml", "spec.pytorchReplicaSpecs.Master.template.spec.containers.0.name",
         "trainer", "pytorch trains, and another is called trainer: rename that one"),
        ("tfjob.yaml", "spec.tfReplicaSpecs.PS", {}, "parameter servers have no place"),
        ("tfjob.yaml", "spec.tfReplicaSpecs.Worker.replicas", 500, "501 instances"),
        ("tfjob.yaml", "spec.tfReplicaSpecs.Master", {}, "there is a Chief already"),
        ("mpijob-v1.yaml", "spec.mpiReplicaSpecs.Launcher", DELETE, "Launcher: an MPIJob has one"),
        ("trainjob.yaml", "spec.trainer.image", DELETE, "image: it comes from the runtime"),
        ("jobset.yaml", "spec.replicatedJobs", [], "replicatedJobs: no pod is there"),
        ("volcano.yaml", "spec.tasks.0.replicas", 2, "a group is one leader and pods that are"),
        ("volcano.yaml", "spec.tasks.0.name", "ps", "parameter servers have no place"),
    ],
)  # fmt: skip
def test_a_job_that_no_training_job_can_be(name: str, path: str, value: Any, why: str) -> None:
    result = convert(sample(name, **{path: value}))
    assert isinstance(result, Refused)
    assert why in result.why


@pytest.mark.parametrize(
    ("api", "kind", "verdict"),
    [
        ("batch/v1", "Job", Other),
        ("v1", "ConfigMap", Other),
        ("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime", Other),
        ("kubeflow.org/v1beta1", "Experiment", Other),
        ("kubeflow.org/v1", "PaddleJob", Refused),
        ("kubeflow.org/v1", "XGBoostJob", Refused),
        ("trainingjob.dev/v1", "TrainingJob", Other),
        ("", "", Other),
    ],
)
def test_which_kinds_pass_and_which_are_refused(api: str, kind: str, verdict: Any) -> None:
    assert isinstance(convert({"apiVersion": api, "kind": kind}), verdict)


@pytest.mark.parametrize("document", [None, [], "text", 3, {}, {"kind": ["PyTorchJob"]}])
def test_what_is_no_manifest_is_left_alone(document: Any) -> None:
    assert convert(document) == Other()


def test_a_field_that_nobody_knows_is_told() -> None:
    result = convert(sample("pytorchjob.yaml", **{"spec.runPolicy.newField": {"on": 1}}))
    assert isinstance(result, Converted)
    assert "spec.runPolicy.newField: the conversion does not know this field; " in "".join(
        map(str, result.notes)
    )


def test_the_launchers_word_counts_where_both_say_something() -> None:
    env = [{"name": "OMP_PLACES", "value": "threads"}, {"name": "OF_WORKER", "value": "1"}]
    path = "spec.mpiReplicaSpecs.Worker.template.spec.containers.0.env"
    result = convert(sample("mpijob-v2beta1.yaml", **{path: env}))
    assert isinstance(result, Converted)
    (main,) = result.manifest["spec"]["template"]["spec"]["containers"]
    assert main["env"] == [{"name": "OMP_PLACES", "value": "cores"}, env[1]]
    assert "spec.mpiReplicaSpecs.Launcher.env.OMP_PLACES" in {note.path for note in result.notes}


def test_an_elastic_job_of_a_master_alone_may_grow_by_workers() -> None:
    job = sample("pytorchjob-roles.yaml", **{f"{WORKER}.replicas": 0})
    job["spec"]["elasticPolicy"] = {"minReplicas": 0, "maxReplicas": 4}
    master = job["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"]
    master[1]["image"] = "registry.example/master:1"
    spec = spec_of(job)
    assert (spec["PARALLEL_INSTANCES"], spec["elastic"]) == (
        1,
        {"minInstances": 1, "maxInstances": 5},
    )
    (worker,) = spec["template"]["spec"]["containers"]
    assert worker["image"] == "registry.example/roles:1"
    assert spec["masterTemplate"]["spec"]["containers"][1]["image"] == "registry.example/master:1"


ABORT = {"event": "PodFailed", "action": "AbortJob"}


@pytest.mark.parametrize(
    ("policies", "rules", "restarts"),
    [
        ([ABORT], None, 0),
        ([{"exitCode": 3, "action": "AbortJob"}, ABORT], None, 0),
        ([{"exitCode": 3, "action": "RestartJob"}], [([3], "Restart")], 5),
        (
            [{"exitCode": 3, "action": "RestartJob"}, ABORT],
            [([3], "Restart"), ([*range(1, 3), *range(4, 256)], "Fail")],
            5,
        ),
        (
            [{"event": "PodFailed", "action": "RestartJob"}, {"exitCode": 3, "action": "AbortJob"}],
            None,
            5,
        ),
        ([ABORT, {"exitCode": 3, "action": "RestartJob"}], None, 0),
        (
            [
                {"event": "PodEvicted", "action": "RestartJob"},
                {"exitCode": 3, "action": "AbortJob"},
            ],
            [([3], "Fail")],
            5,
        ),
        (
            [{"exitCode": 3, "action": "AbortJob"}, {"exitCode": 3, "action": "RestartJob"}],
            [([3], "Fail")],
            5,
        ),
        (
            [{"exitCode": code, "action": "AbortJob"} for code in range(1, 31)],
            [([*range(1, 31)], "Fail")],
            5,
        ),
    ],
)
def test_volcanos_policies_are_rules_that_are_not_idle(
    policies: Any, rules: Any, restarts: int
) -> None:
    spec = spec_of(sample("volcano.yaml", **{"spec.policies": policies}))
    found = spec.get("failureRules")
    assert (found and [(rule["exitCodes"], rule["action"]) for rule in found]) == rules
    assert spec["maxRestarts"] == restarts


CONTAINER = {"name": "pytorch", "image": "i", "command": ["python", "train.py"]}


@pytest.mark.parametrize(
    ("processes", "command", "told"),
    [
        ("2", ["python", "train.py"], True),
        ("auto", ["python", "train.py"], True),
        ("1", ["python", "train.py"], False),
        ("2", ["torchrun", "train.py"], False),
        ("2", ["python", "-m", "torch.distributed.run", "train.py"], False),
    ],
)
def test_a_rank_that_means_something_else_here_is_told(
    processes: str, command: list[str], told: bool
) -> None:
    job = sample("pytorchjob.yaml", **{"spec.nprocPerNode": processes})
    for role in job["spec"]["pytorchReplicaSpecs"].values():
        role["template"]["spec"]["containers"] = [{**CONTAINER, "command": command}]
    result = convert(job)
    assert isinstance(result, Converted)
    found = [note for note in result.notes if note.path == "spec.nprocPerNode"]
    assert bool([note for note in found if note.why.startswith("RANK was the pod's")]) is told


@pytest.mark.parametrize(
    ("command", "runtime_env", "wanted"),
    [
        (["torchrun", "train.py"], None, "auto"),
        (["torchrun", "--nproc_per_node=4", "train.py"], None, 4),
        (["torchrun", "--nproc_per_node=gpu", "train.py"], None, "auto"),
        (["torchrun", "train.py"], [], "auto"),
        (["torchrun", "train.py"], [{"name": "PET_NPROC_PER_NODE", "value": "2"}], 2),
    ],
)
def test_processes_of_a_trainjob_that_says_no_number(
    command: list[str], runtime_env: Any, wanted: Any
) -> None:
    job = sample("trainjob.yaml", **{"spec.trainer.command": command})
    del job["spec"]["trainer"]["numProcPerNode"]
    runtime = read((INPUTS / "trainjob-runtime.yaml").read_text())[0].value
    runtime["spec"]["mlPolicy"] = {"torch": {}}
    jobs = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    jobs[1]["template"]["spec"]["template"]["spec"]["containers"][0]["env"] = runtime_env
    key = ("ClusterTrainingRuntime", "", "torch-distributed")
    result = convert(job, {} if runtime_env is None else {key: runtime})
    assert isinstance(result, Converted), result
    assert result.manifest["spec"]["processesPerInstance"] == wanted


def test_annotations_name_the_container_as_it_is_called_now() -> None:
    apparmor, seccomp = (
        "apparmor.security.beta.kubernetes.io",
        "seccomp.security.alpha.kubernetes.io",
    )
    inject = "vault.hashicorp.com/agent-inject-containers"
    found = {
        f"container.{apparmor}/pytorch": "runtime/default",
        f"container.{apparmor}/sidecar": "unconfined",
        f"container.{seccomp}/pytorch": "unconfined",
        "kubectl.kubernetes.io/default-container": "pytorch",
        "kubectl.kubernetes.io/default-logs-container": "pytorch",
        inject: "pytorch, other",
        "team": "pytorch",
    }
    path = f"{WORKER}.template.metadata.annotations"
    result = convert(sample("pytorchjob.yaml", **{path: found}))
    assert isinstance(result, Converted)
    assert result.manifest["spec"]["template"]["metadata"]["annotations"] == {
        f"container.{apparmor}/trainer": "runtime/default",
        f"container.{apparmor}/sidecar": "unconfined",
        f"container.{seccomp}/trainer": "unconfined",
        "kubectl.kubernetes.io/default-container": "trainer",
        "kubectl.kubernetes.io/default-logs-container": "trainer",
        inject: "pytorch, other",
        "team": "pytorch",
    }
    told = [note for note in result.notes if "it names pytorch" in note.why]
    assert {note.path.rpartition(".annotations.")[2] for note in told} == {inject}


@pytest.mark.parametrize(
    ("path", "annotation", "told"),
    [
        ("metadata", "alpha.jobset.sigs.k8s.io/exclusive-topology", "JobSet alone reads it"),
        ("metadata", "kueue.x-k8s.io/priority-class", "Kueue knows no TrainingJob yet"),
        (f"{WORKER}.template.metadata", "kueue.x-k8s.io/podset-required-topology", "Kueue knows"),
        (f"{WORKER}.template.metadata", "sidecar.istio.io/inject", ""),
        ("metadata", "notjobset.sigs.k8s.io/x", ""),
    ],
)
def test_annotations_that_nobody_reads_any_more_are_told(
    path: str, annotation: str, told: str
) -> None:
    result = convert(sample("pytorchjob.yaml", **{f"{path}.annotations": {annotation: "x"}}))
    assert isinstance(result, Converted)
    found = [note.why for note in result.notes if note.path == f"{path}.annotations.{annotation}"]
    assert len(found) == bool(told)
    assert all(why.startswith(told) for why in found)


@pytest.mark.parametrize(
    ("worker", "told"),
    [
        ({"command": ["/usr/sbin/sshd"], "args": ["-De"]}, []),
        ({"command": ["/bin/sh", "-c", "mkdir -p /var/run/sshd; /usr/sbin/sshd -D;"]}, []),
        ({"command": ["sleep", "infinity"]}, []),
        ({"command": ["sh", "-c", "./warm-cache && /usr/sbin/sshd -D"]}, ["command"]),
        ({"command": ["./warm-cache"]}, ["command"]),
        ({"readinessProbe": {"tcpSocket": {"port": 22}}}, ["readinessProbe"]),
        ({"lifecycle": {"preStop": {"exec": {"command": ["./bye"]}}}}, ["lifecycle"]),
        ({"command": "sshd"}, []),
    ],
)
def test_what_an_mpi_worker_ran_and_was_asked_is_told(worker: Any, told: list[str]) -> None:
    job = sample("mpijob-v2beta1.yaml")
    (container,) = job["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["containers"]
    for name in ("command", "args"):
        del container[name]
    container |= worker
    result = convert(job)
    assert isinstance(result, Converted)
    paths = [f"spec.mpiReplicaSpecs.Launcher.template.{name}" for name in told]
    assert [note.path for note in result.notes if "the workers' " in note.why] == [
        "spec.mpiReplicaSpecs.Launcher.template.resources",
        *paths,
    ]


def _env(**values: str) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in values.items()]


@pytest.mark.parametrize(
    ("env", "meaning"),
    [
        (_env(A="1", B="$(A)") + _env(A="2"), {"A": "2", "B": "1"}),
        (_env(A="1") + _env(A="$(A):2"), {"A": "1:2"}),
        (_env(A="1", B="$$(A)") + _env(A="2", C="$(A)"), {"A": "2", "B": "$(A)", "C": "2"}),
        (_env(X="x", A="$(X)", B="$(A)") + _env(A="2"), {"X": "x", "A": "2", "B": "x"}),
        (_env(A="1") + _env(A="2") + _env(B="$(A)", A="3"), {"A": "3", "B": "2"}),
    ],
)
def test_a_variable_that_is_set_twice_means_what_it_meant(env: Any, meaning: Any) -> None:
    assert expanded(env) == meaning
    (main,) = spec_of(sample("pytorchjob.yaml", **{f"{CONTAINERS}.0.env": env}))["template"][
        "spec"
    ]["containers"]
    assert expanded(main["env"]) == meaning
    names = [item["name"] for item in main["env"]]
    assert len(names) == len(set(names))


def test_who_refers_to_a_variable_that_is_left_out_and_has_no_text_is_told() -> None:
    source = {"secretKeyRef": {"name": "s", "key": "k"}}
    env = [{"name": "A", "valueFrom": source}, *_env(B="$(A)"), *_env(A="2")]
    result = convert(sample("pytorchjob.yaml", **{f"{CONTAINERS}.0.env": env}))
    assert isinstance(result, Converted)
    assert any("refers to the first of two A" in note.why for note in result.notes)


def expanded(env: list[dict[str, str]]) -> dict[str, str]:
    """The variables as Kubernetes sets them."""
    found: dict[str, str] = {}
    for item in env:
        parts = item["value"].split("$$")
        for name, value in found.items():
            parts = [part.replace(f"$({name})", value) for part in parts]
        found[item["name"]] = "$".join(parts)
    return found


def test_a_launchers_variables_mean_what_they_meant() -> None:
    theirs, mine = _env(B="1", A="$(B)"), _env(A="x", OF_WORKER="$(A)", B="2")
    roles = "spec.mpiReplicaSpecs"
    job = sample("mpijob-v2beta1.yaml")
    put(job, f"{roles}.Launcher.template.spec.containers.0.env", theirs)
    put(job, f"{roles}.Worker.template.spec.containers.0.env", mine)
    (main,) = spec_of(job)["template"]["spec"]["containers"]
    assert expanded(main["env"]) == {"B": "1", "A": "1", "OF_WORKER": "1"}


def test_a_trainjobs_variables_stand_where_the_runtimes_stood() -> None:
    job = sample("trainjob-runtime.yaml", **{"spec.trainer.env": _env(HOME="/b", NEW="$(LOGS)")})
    runtime = read((INPUTS / "trainjob-runtime.yaml").read_text())[0].value
    jobs = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    (node,) = jobs[1]["template"]["spec"]["template"]["spec"]["containers"]
    node["env"] = _env(HOME="/a", LOGS="$(HOME)/logs")
    result = convert(job, {("TrainingRuntime", "", "ours"): runtime})
    assert isinstance(result, Converted)
    (main,) = result.manifest["spec"]["template"]["spec"]["containers"]
    assert expanded(main["env"]) == {"HOME": "/b", "LOGS": "/b/logs", "NEW": "/b/logs"}


@pytest.mark.parametrize(
    ("name", "path", "value", "told", "words"),
    [
        ("pytorchjob.yaml", "metadata.ownerReferences", [{"kind": "Workflow"}],
         "metadata.ownerReferences", "the owner owns the old job"),
        ("pytorchjob.yaml", "metadata.finalizers", ["a/b"], "metadata.finalizers", "another"),
        ("pytorchjob.yaml", "spec.runPolicy.managedBy", "kueue.x-k8s.io/multikueue",
         "spec.runPolicy.managedBy", "the operator leaves the job alone"),
        ("pytorchjob.yaml", "spec.runPolicy.schedulingPolicy.scheduleTimeoutSeconds", 10,
         "spec.runPolicy.schedulingPolicy.scheduleTimeoutSeconds", "how long a group may wait"),
        ("pytorchjob.yaml", f"{WORKER}.restartPolicy", "Always",
         "spec.pytorchReplicaSpecs.Master.restartPolicy", "the replicas' policies differ"),
        ("pytorchjob.yaml", f"{CONTAINERS}.0.ports.0.containerPort", 80,
         "spec.pytorchReplicaSpecs.Master.ports", "is no port from 1024"),
        ("pytorchjob.yaml", f"{WORKER}.template.metadata.name", "w",
         f"{WORKER}.template.metadata.name", "pods are named by the operator"),
        ("pytorchjob.yaml", f"{CONTAINERS}.0.env.0.name", "CPUS", f"{CONTAINERS}[0].env.CPUS",
         "it is set twice"),
        ("pytorchjob-elastic.yaml", "spec.elasticPolicy.minReplicas", 3,
         "spec.elasticPolicy.minReplicas", "the job starts with 2"),
        ("tfjob.yaml", "spec.tfReplicaSpecs.Chief", DELETE, "spec.tfReplicaSpecs.Worker",
         "the first worker is the chief here"),
        ("mpijob-v2beta1.yaml", "spec.mpiReplicaSpecs.Launcher.template.spec.nodeName", "n",
         "spec.mpiReplicaSpecs.Launcher.template.spec.nodeName", "the workers' pod counts"),
        ("mpijob-v2beta1.yaml",
         "spec.mpiReplicaSpecs.Launcher.template.spec.containers.0.command", DELETE,
         "spec.mpiReplicaSpecs.Launcher.template", "the launcher has no command"),
        ("trainjob.yaml", "spec.runtimePatches", [{"manager": "m"}], "spec.runtimePatches",
         "what it would change is in the template here"),
        ("jobset.yaml", "spec.successPolicy", {"operator": "Any"}, "spec.successPolicy.operator",
         "the group succeeds as a whole"),
        ("jobset.yaml", "spec.replicatedJobs.0.template.spec.completions", 7,
         "spec.replicatedJobs[0].template.spec.completions", "each pod ends once"),
        ("jobset.yaml", "spec.replicatedJobs.0.template.spec.backoffLimit", 6,
         "spec.replicatedJobs[0].template.spec.backoffLimit", "one rank is never restarted alone"),
        ("volcano.yaml", "spec.minAvailable", 2, "spec.minAvailable", "not with 2 of 3"),
        ("volcano.yaml", "spec.policies.0.timeout", "10m", "spec.policies[0].timeout",
         "nothing waits here"),
        ("volcano.yaml", "spec.tasks.1.policies", [{"event": "PodFailed", "action": "AbortJob"}],
         "spec.tasks[1].policies[0].action", "AbortJob of one task alone"),
        ("volcano.yaml", "spec.tasks.1.policies",
         [{"event": "TaskCompleted", "action": "CompleteJob"}],
         "spec.tasks[1].policies", "the end of its pods was the job's"),
        ("volcano.yaml", "spec.tasks.1.policies", [{"exitCode": 3, "action": "RestartJob"}],
         "spec.tasks[1].policies[0].action", "RestartJob by exit code"),
        ("volcano.yaml", "spec.policies.0", {"event": "PodFailed", "action": "AbortJob"},
         "spec.policies[1].exitCode", "a policy before it decides on all failures"),
        ("volcano.yaml", "spec.policies.0", {"event": "TaskCompleted", "action": "CompleteJob"},
         "spec.policies[0].action", "CompleteJob on TaskCompleted"),
        ("pytorchjob-elastic.yaml", "spec.runPolicy.backoffLimit", 7,
         "spec.elasticPolicy.maxRestarts", "the backoffLimit was taken"),
        ("volcano.yaml", "spec.policies.0.event", "Unknown", "spec.policies[0].action",
         "RestartJob on Unknown"),
    ],
)  # fmt: skip
def test_what_has_no_place_is_told(name: str, path: str, value: Any, told: str, words: str) -> None:
    document = sample(name, **{path: value})
    if path.endswith("containerPort"):
        put(document, path.replace("Worker", "Master"), value)
    result = convert(document)
    assert isinstance(result, Converted), result
    assert words in " ".join(note.why for note in result.notes if note.path == told)


def test_of_two_single_pods_the_one_that_is_called_so_leads() -> None:
    document = sample("jobset-leader.yaml")
    leader, workers = document["spec"]["replicatedJobs"]
    workers["template"]["spec"] |= {"parallelism": 1, "completions": 1}
    document["spec"]["replicatedJobs"] = [workers, leader]
    spec = spec_of(document)
    assert spec["masterTemplate"]["spec"]["containers"][0]["command"] == ["./lead"]
    assert (spec["PARALLEL_INSTANCES"], spec["successPolicy"]) == (2, "Master")


@pytest.mark.parametrize(
    ("single", "policies", "ranks", "told"),
    [
        ("leader", {}, 5, ""),
        ("evaluator", {}, 5, "it was taken for the leader"),
        ("evaluator", {"successPolicy": {"targetReplicatedJobs": ["workers"]}}, 4, "no part of"),
        ("leader", {"successPolicy": {"targetReplicatedJobs": ["workers"]}}, 5, ""),
        ("leader", {"coordinator": {"replicatedJob": "workers"}}, 4, "no part of the group"),
        ("driver", {"coordinator": {"replicatedJob": "driver"}}, 5, ""),
        ("evaluator", {"successPolicy": {"targetReplicatedJobs": ["evaluator"]}}, 5, "taken for"),
    ],
)
def test_a_single_pod_is_the_leader_or_no_rank(
    single: str, policies: Any, ranks: int, told: str
) -> None:
    job = sample("jobset-leader.yaml")
    job["spec"]["replicatedJobs"][0]["name"] = single
    del job["spec"]["successPolicy"]
    job["spec"] |= policies
    assert spec_of(job)["PARALLEL_INSTANCES"] == ranks
    result = convert(job)
    assert isinstance(result, Converted)
    found = [note.why for note in result.notes if note.path == f"spec.replicatedJobs.{single}"]
    assert len(found) == bool(told)
    assert all(told in why for why in found)


def test_a_role_that_is_empty_is_none() -> None:
    job = sample("tfjob.yaml", **{"spec.tfReplicaSpecs.PS": None})
    job["spec"]["tfReplicaSpecs"]["Boss"] = {"replicas": 0}
    assert spec_of(job)["PARALLEL_INSTANCES"] == 3


def test_a_mount_without_its_volume_is_told() -> None:
    job = sample("jobset.yaml")
    pod = job["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    pod["containers"][0]["volumeMounts"] = [{"name": "work", "mountPath": "/work"}]
    result = convert(job)
    assert isinstance(result, Converted)
    assert "spec.template.containers.trainer.volumeMounts.work" in {
        note.path for note in result.notes
    }


def test_a_runtime_that_was_not_seen_is_known_by_its_name() -> None:
    named = "spec.runtimeRef.name"
    torch = sample("trainjob.yaml", **{named: "torch-distributed"})
    del torch["spec"]["trainer"]["numProcPerNode"]
    assert spec_of(torch)["processesPerInstance"] == "auto"
    other = convert(sample("trainjob.yaml", **{named: "ours"}))
    assert isinstance(other, Converted)
    assert any(note.why == "PyTorch was taken" for note in other.notes)
    assert isinstance(convert(sample("trainjob.yaml", **{named: "xgboost-distributed"})), Refused)


def test_a_task_called_mpimaster_leads() -> None:
    job = sample("volcano-mpi.yaml")
    tasks = job["spec"]["tasks"]
    for task, name in zip(tasks, ("mpiworker", "mpimaster"), strict=True):
        task |= {"name": name, "replicas": 1, "policies": []}
    tasks[1]["template"]["spec"]["containers"][0]["command"] = ["mpirun", "leads"]
    (trainer, *_) = spec_of(job)["template"]["spec"]["containers"]
    assert trainer["command"] == ["mpirun", "leads"]


def test_volcanos_plugins_are_told_beside_one_of_a_framework() -> None:
    result = convert(sample("volcano.yaml", **{"spec.plugins": {"pytorch": [], "svc": []}}))
    assert isinstance(result, Converted)
    assert any(note.path == "spec.plugins.svc" for note in result.notes)


def test_the_task_that_volcanos_plugin_names_leads() -> None:
    job = sample("volcano-mpi.yaml", **{"spec.plugins": {"mpi": ["--master=boss", "--port=2222"]}})
    tasks = job["spec"]["tasks"]
    for task, name in zip(tasks, ("hands", "boss"), strict=True):
        task |= {"name": name, "replicas": 1, "policies": []}
    tasks[1]["template"]["spec"]["containers"][0]["command"] = ["mpirun", "leads"]
    (trainer, *_) = spec_of(job)["template"]["spec"]["containers"]
    assert trainer["command"] == ["mpirun", "leads"]


def test_the_task_that_ends_the_job_leads() -> None:
    job = sample("volcano-mpi.yaml")
    first, second = job["spec"]["tasks"]
    first |= {"name": "hands", "replicas": 1, "policies": []}
    ends = {"event": "TaskCompleted", "action": "CompleteJob"}
    second |= {"name": "boss", "replicas": 1, "policies": [ends]}
    second["template"]["spec"]["containers"][0]["command"] = ["mpirun", "leads"]
    (trainer, *_) = spec_of(job)["template"]["spec"]["containers"]
    assert trainer["command"] == ["mpirun", "leads"]


@pytest.mark.parametrize("word", ["${MPI_HOST}", "$(VC_WORKER_HOSTS)", "$VC_BOSS_NUM"])
def test_what_volcano_would_have_set_is_told(word: str) -> None:
    job = sample("volcano.yaml")
    (container, *_) = job["spec"]["tasks"][0]["template"]["spec"]["containers"]
    container["command"] = ["run", "--host", word]
    result = convert(job)
    assert isinstance(result, Converted)
    assert any(f"there is no {word.strip('${}()')} here" in note.why for note in result.notes)


def _mpi_runtime(command: list[str]) -> Any:
    def replicated(name: str, **container: Any) -> dict[str, Any]:
        pod = {"spec": {"containers": [{"name": "node", "image": "i", **container}]}}
        return {"name": name, "template": {"spec": {"template": pod}}}

    sshd = {"command": ["/usr/sbin/sshd"], "args": ["-De", "-f", "/home/u/.sshd_config"]}
    jobs = [replicated("launcher", command=command), replicated("node", **sshd)]
    mpi = {"numProcPerNode": 2, "mpiImplementation": "OpenMPI", "runLauncherAsNode": True}
    spec = {"mlPolicy": {"numNodes": 2, "mpi": mpi}, "template": {"spec": {"replicatedJobs": jobs}}}
    return {"kind": "ClusterTrainingRuntime", "metadata": {"name": "ours"}, "spec": spec}


@pytest.mark.parametrize("own", [None, ["mpirun", "python", "own.py"]])
def test_of_a_runtime_with_a_launcher_its_command_is_run_and_not_sshd(own: Any) -> None:
    job = sample("trainjob.yaml", **{"spec.runtimeRef": {"name": "ours"}})
    job["spec"]["trainer"] = {"command": own} if own else {}
    runtime = _mpi_runtime(["mpirun", "python", "theirs.py"])
    result = convert(job, {("ClusterTrainingRuntime", "", "ours"): runtime})
    assert isinstance(result, Converted), result
    assert faults(result.manifest) == []
    spec = result.manifest["spec"]
    (trainer,) = spec["template"]["spec"]["containers"]
    assert trainer["command"] == (own or ["mpirun", "python", "theirs.py"])
    assert "args" not in trainer
    assert (spec["framework"], spec["PARALLEL_INSTANCES"]) == ("MPI", 2)
    assert spec["processesPerInstance"] == 2
