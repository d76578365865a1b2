"""A node that falls silent: its rank is named, waited for, and replaced where a node is left.

It needs the embedded cluster with two nodes (`NODES=2 make deploy`), whose second kubelet is
frozen: its containers live on, as they do behind a broken network.
"""

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from e2e import jobs
from e2e.harness import Cluster, Manifest, Namespace
from localcluster import embedded, processes

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

STAYS, GOES = "node-0", "node-1"
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
SOON = [
    {"key": f"node.kubernetes.io/{state}", "effect": "NoExecute", "tolerationSeconds": 5}
    for state in ("not-ready", "unreachable")
]


@pytest.fixture
def kubelet(cluster: Cluster) -> Iterator[int]:
    """The process of the second node's kubelet; what was done to it is undone."""
    found = {record.name: record.pid for record in processes.read(embedded.Embedded().at.records)}
    if f"{GOES}-kubelet" not in found:
        pytest.skip("needs the embedded cluster with two nodes: NODES=2 make deploy")
    pid = found[f"{GOES}-kubelet"]
    yield pid
    os.kill(pid, signal.SIGCONT)
    cluster.kubectl("taint", "nodes", GOES, f"{OUT_OF_SERVICE}-")
    cluster.kubectl("wait", f"node/{GOES}", "--for=condition=Ready", "--timeout=120s")


def a_template(node: str, *, required: bool) -> Manifest:
    """A pod that has to be on a node, or would like to be."""
    term: Manifest = {
        "matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]
    }
    affinity: dict[str, Any] = (
        {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
        if required
        else {
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference": term}]
        }
    )
    template = jobs.a_template(STEPS="600,4")
    template["spec"] |= {"affinity": {"nodeAffinity": affinity}, "tolerations": SOON}
    return template


def test_a_silent_node_is_named_and_its_rank_replaced(
    cluster: Cluster, lab: Namespace, kubelet: int
) -> None:
    master = a_template(STAYS, required=True)
    job = jobs.a_job("node", 2, a_template(GOES, required=False), masterTemplate=master)
    lab.apply(job)
    lab.wait_for_phase("node", "Running")
    assert lab.ranks("node")[1]["spec"]["nodeName"] == GOES

    os.kill(kubelet, signal.SIGSTOP)
    stuck = lab.wait_for("node", lambda status: "was to end by" in status.get("message", ""))
    assert "node-worker-0 on node-1" in stuck["message"]
    assert (stuck["attempt"], stuck["disruptions"], stuck["restarts"]) == (2, 1, 0)
    assert stuck["failure"]["rank"] == 1
    assert stuck["failure"]["node"] == GOES
    assert set(lab.ranks("node")) == {1}, "a rank of the next attempt was made too early"

    cluster.kubectl("taint", "nodes", GOES, f"{OUT_OF_SERVICE}=lost:NoExecute")
    status = lab.wait_for_end("node")
    assert status["phase"] == "Succeeded", status["message"]
    assert lab.ranks("node")[1]["spec"]["nodeName"] == STAYS
