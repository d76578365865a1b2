"""The three resources that are compared: how each is asked for, and how it says what it is.

A job is one master and N-1 workers where a kind knows masters, else N equal pods. What it says
is read from its own status, at its most exact: a kind that calls a job running when its master
runs is asked for the number of its running workers instead.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

Json = dict[str, Any]
IMAGE: Final = "registry.k8s.io/pause:3.10"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of resource."""

    group: str
    version: str
    name: str
    plural: str
    spec: Callable[[int, Json], Json]
    """For so many pods with this template."""
    container: str
    services: Callable[[int], int]
    """How many services a job of so many pods has."""
    running: Callable[[Json, int], bool]
    """Whether a status says that so many pods run."""
    succeeded: Callable[[Json], bool]
    label: str = ""
    """The label with the job's name on pods that the job does not own itself."""

    def path(self, namespace: str) -> str:
        """Where the resources of a namespace are."""
        return f"/apis/{self.group}/{self.version}/namespaces/{namespace}/{self.plural}"

    def body(self, name: str, pods: int, node: str = "") -> Json:
        """A job of so many pods; on a node, if one is named."""
        container = {"name": self.container, "image": IMAGE, "command": ["/pause"]}
        pod: Json = {"containers": [container], "serviceAccountName": "default"}
        if node:
            pod["nodeName"] = node
        return {
            "apiVersion": f"{self.group}/{self.version}",
            "kind": self.name,
            "metadata": {"name": name},
            "spec": self.spec(pods, {"spec": pod}),
        }

    def job_of(self, pod: Json) -> str:
        """The name of the job that a pod belongs to."""
        metadata = pod["metadata"]
        if self.label:
            return str((metadata.get("labels") or {}).get(self.label, ""))
        owners = metadata.get("ownerReferences") or [{"name": metadata["name"]}]
        return str(owners[0]["name"])


def _condition(status: Json, name: str) -> bool:
    conditions = status.get("conditions") or ()
    return any(it["type"] == name and it["status"] == "True" for it in conditions)


TRAINING_JOB: Final = Kind(
    group="trainingjob.dev",
    version="v1",
    name="TrainingJob",
    plural="trainingjobs",
    container="trainer",
    spec=lambda pods, template: {"PARALLEL_INSTANCES": pods, "template": template},
    services=lambda _: 1,
    running=lambda status, _: status.get("phase") == "Running",
    succeeded=lambda status: _condition(status, "Succeeded"),
)


def _jobset(pods: int, template: Json) -> Json:
    template["spec"]["restartPolicy"] = "Never"
    job = {
        "completions": pods,
        "parallelism": pods,
        "completionMode": "Indexed",
        "backoffLimit": 0,
        "template": template,
    }
    return {
        "failurePolicy": {"maxRestarts": 3},
        "replicatedJobs": [{"name": "workers", "replicas": 1, "template": {"spec": job}}],
    }


JOBSET: Final = Kind(
    group="jobset.x-k8s.io",
    version="v1alpha2",
    name="JobSet",
    plural="jobsets",
    container="trainer",
    spec=_jobset,
    services=lambda _: 1,
    running=lambda status, _: any(
        it.get("ready") for it in status.get("replicatedJobsStatus") or ()
    ),
    succeeded=lambda status: _condition(status, "Completed"),
    label="jobset.sigs.k8s.io/jobset-name",
)


def _pytorch(pods: int, template: Json) -> Json:
    def of(replicas: int) -> Json:
        return {"replicas": replicas, "restartPolicy": "Never", "template": template}

    return {
        "pytorchReplicaSpecs": {
            "Master": of(1),
            **({"Worker": of(pods - 1)} if pods > 1 else {}),
        }
    }


def _active(status: Json, pods: int) -> bool:
    replicas = (status.get("replicaStatuses") or {}).values()
    return bool(sum(it.get("active", 0) for it in replicas) == pods)


PYTORCH_JOB: Final = Kind(
    group="kubeflow.org",
    version="v1",
    name="PyTorchJob",
    plural="pytorchjobs",
    container="pytorch",
    spec=_pytorch,
    services=lambda pods: pods,
    running=_active,
    succeeded=lambda status: _condition(status, "Succeeded"),
)
KINDS: Final = (TRAINING_JOB, JOBSET, PYTORCH_JOB)
