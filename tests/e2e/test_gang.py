"""Kubernetes' own gang scheduling on real nodes; the local cluster has it with GANG=1."""

import json
import subprocess
from collections.abc import Mapping

import pytest

from e2e import jobs
from e2e.harness import Cluster, Manifest, Namespace, Objects
from trainingjobs.model.gang import PLURAL, Gang
from trainingjobs.model.quantity import number

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

INSTANCES = 3
SHARE = 0.3
"""Of a node for each instance: one group fits and two do not."""


@pytest.fixture(autouse=True)
def _gangs(cluster: Cluster) -> None:
    asked = cluster.command("get", "--raw", f"/apis/{Gang.KUBERNETES}")
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    if done.returncode or PLURAL not in done.stdout:
        pytest.skip("this cluster places no groups: bring it up with GANG=1")


def a_job_for_all_the_room(name: str, nodes: list[Manifest], script: str) -> Manifest:
    """A job of which a second does not fit beside the first."""
    cores = min(number(node["status"]["allocatable"]["cpu"]) for node in nodes)
    template = jobs.a_template(script)
    asked = {"cpu": f"{int(float(cores) * 1000 * SHARE)}m"}
    template["spec"]["containers"][0]["resources"] = {"requests": asked}
    return jobs.a_job(name, INSTANCES * len(nodes), template)


def nodes_of(cluster: Cluster) -> list[Manifest]:
    found: list[Manifest] = json.loads(cluster.kubectl("get", "nodes", "-ojson"))["items"]
    return found


def of(job: str, pods: Objects) -> Mapping[str, Manifest]:
    return {name: pod for name, pod in pods.items() if name.startswith(f"{job}-")}


def placed(job: str, pods: Objects) -> int:
    """How many pods of a job have a node."""
    return sum("nodeName" in pod["spec"] for pod in of(job, pods).values())


def over(job: str, pods: Objects) -> bool:
    return any(pod["status"]["phase"] == "Succeeded" for pod in of(job, pods).values())


def groups(lab: Namespace) -> list[str]:
    listed = json.loads(lab.kubectl("get", f"{PLURAL}.{Gang.KUBERNETES.group}", "-ojson"))
    return [item["metadata"]["name"] for item in listed["items"]]


def test_one_runs_whole_and_the_other_holds_nothing_meanwhile(
    cluster: Cluster, lab: Namespace
) -> None:
    nodes = nodes_of(cluster)
    size = INSTANCES * len(nodes)
    for name in ("first", "second"):
        lab.apply(a_job_for_all_the_room(name, nodes, "import time; time.sleep(15)"))
    histories: list[tuple[int, int, bool]] = []

    def both_have_run(pods: Objects) -> bool:
        done = over("first", pods) or over("second", pods)
        histories.append((placed("first", pods), placed("second", pods), done))
        return len(of("first", pods)) == len(of("second", pods)) == size and all(
            "nodeName" in pod["spec"] for pod in pods.values()
        )

    lab.wait("pods", both_have_run)
    assert groups(lab)
    together = [(one, two) for one, two, done in histories if one and two and not done]
    assert together == []
    for name in ("first", "second"):
        assert lab.wait_for_end(name)["phase"] == "Succeeded"
        assert lab.status(name)["placementTimeouts"] == 0
    lab.kubectl("wait", "--for=delete", "podgroups.scheduling.k8s.io", "--all", "--timeout=60s")


def test_a_group_that_falls_is_placed_as_a_whole_again(cluster: Cluster, lab: Namespace) -> None:
    lab.apply(a_job_for_all_the_room("falls", nodes_of(cluster), jobs.SLEEP))
    lab.wait_for_phase("falls", "Running")
    lab.kubectl("delete", "pod", "falls-worker-0", "--wait=false")
    status = lab.wait_for("falls", lambda it: it.get("attempt") == 2 and it["phase"] == "Running")
    assert status["disruptions"] == 1
    assert groups(lab) == ["falls"]
