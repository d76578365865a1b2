"""Jobs of other operators, converted and applied as they come out, train on real pods."""

import json
from typing import Any

import pytest
import yaml

from e2e.harness import Manifest, Namespace
from e2e.jobs import a_template
from trainingjobs.convert import stream

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

RANK = """
import os, sys, time
sys.stdout.write(f"I am rank {os.environ['OMPI_COMM_WORLD_RANK']}\\n")
time.sleep(1)
"""
"""One write a line, or the ranks' lines are mixed; and a second of life, as Open MPI's launcher may
hang over ranks that end as they start."""


def foreign(name: str, *, command: list[str] | None = None, **env: str) -> Manifest:
    """A pod template whose container another operator would look for, and set up by hand."""
    template = a_template(**env)
    (container,) = template["spec"]["containers"]
    container |= {"name": name} | ({"command": command} if command else {})
    template["spec"]["restartPolicy"] = "OnFailure"
    return template


def applied(lab: Namespace, **document: Any) -> Manifest:
    """The converted job, once it has ended."""
    done = stream.convert([("test", yaml.safe_dump(document))])
    assert not done.refused, done.words
    (job,) = yaml.safe_load_all(done.manifests)
    lab.apply(job)
    status = lab.wait_for_end(job["metadata"]["name"])
    assert status["phase"] == "Succeeded", status["message"]
    return status


def test_a_pytorchjob(lab: Namespace) -> None:
    template = foreign("pytorch", RANK="7", MASTER_ADDR="old-master-0")
    replicas = {
        "Master": {"replicas": 1, "restartPolicy": "OnFailure", "template": template},
        "Worker": {"replicas": 2, "restartPolicy": "OnFailure", "template": template},
    }
    applied(
        lab,
        apiVersion="kubeflow.org/v1",
        kind="PyTorchJob",
        metadata={"name": "old"},
        spec={"runPolicy": {"cleanPodPolicy": "None"}, "pytorchReplicaSpecs": replicas},
    )
    pods = lab.objects("pods", "old")
    told = [json.loads(lab.kubectl("logs", pod).splitlines()[0]) for pod in pods]
    assert sorted(said["RANK"] for said in told) == ["0", "1", "2"]
    assert {said["MASTER_ADDR"].partition(".")[0] for said in told} == {"old-master"}


def test_a_jobset(lab: Namespace) -> None:
    job = {"parallelism": 3, "completions": 3, "backoffLimit": 0, "template": foreign("worker")}
    status = applied(
        lab,
        apiVersion="jobset.x-k8s.io/v1alpha2",
        kind="JobSet",
        metadata={"name": "ring"},
        spec={"replicatedJobs": [{"name": "workers", "template": {"spec": job}}]},
    )
    assert status["instances"]["succeeded"] == 3


def test_an_mpijob(lab: Namespace) -> None:
    launcher = foreign("launcher", command=["mpirun", "python", "-c", RANK])
    worker = foreign("worker", command=["/usr/sbin/sshd", "-De"])
    applied(
        lab,
        apiVersion="kubeflow.org/v2beta1",
        kind="MPIJob",
        metadata={"name": "ranks"},
        spec={
            "slotsPerWorker": 2,
            "runPolicy": {"cleanPodPolicy": "None"},
            "mpiReplicaSpecs": {
                "Launcher": {"replicas": 1, "template": launcher},
                "Worker": {"replicas": 2, "template": worker},
            },
        },
    )
    said = lab.kubectl("logs", "ranks-master")
    assert sorted(line for line in said.splitlines() if line.startswith("I am")) == [
        f"I am rank {number}" for number in range(4)
    ]
