"""What the pods get: nothing foreign, nothing that only works in the pod network of one cluster."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from builders import a_job
from trainingjobs.model.site import Site
from trainingjobs.model.spec import Manifest
from trainingjobs.plan import manifests

ROOT = Path(__file__).parents[2]
IP = re.compile(r"\d+(\.\d+){3}|\[[0-9a-fA-F:]+\]|(localhost|::1)")
FRAMEWORKS = ("PyTorch", "TensorFlow", "JAX")
HOST = {
    "hostNetwork": True,
    "containers": [{"name": "trainer", "image": "m"}, {"name": "side", "image": "s"}],
}


def pods(*, domain: str = "cluster.local", **spec: Any) -> list[Manifest]:
    job = a_job(3, **spec)
    return [manifests.pod(job, rank, Site(domain=domain)) for rank in range(3)]


def values(pod: Manifest) -> Iterator[tuple[str, str]]:
    for container in (*pod["spec"].get("initContainers", ()), *pod["spec"]["containers"]):
        yield from ((item["name"], item.get("value", "")) for item in container.get("env", ()))


def test_no_image_but_the_users_is_needed() -> None:
    for pod in pods():
        assert "initContainers" not in pod["spec"]
        assert [item["image"] for item in pod["spec"]["containers"]] == ["my/trainer:1"]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_no_address_is_a_number(framework: str) -> None:
    texts = [text for pod in pods(framework=framework) for _, text in values(pod)]
    assert texts
    assert not [text for text in texts if IP.search(text)]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_no_network_interface_is_chosen_for_the_user(framework: str) -> None:
    names = {name for pod in pods(framework=framework) for name, _ in values(pod)}
    assert not {name for name in names if "IFNAME" in name or name.startswith(("NCCL", "GLOO"))}


def test_the_masters_name_is_asked_for_as_it_stands() -> None:
    """With five dots a resolver of a pod tries no search domain first."""
    addresses = {text for pod in pods() for name, text in values(pod) if name == "MASTER_ADDR"}
    (address,) = addresses
    assert address.count(".") >= 5


def test_the_clusters_domain_is_a_setting() -> None:
    told = {text for pod in pods(domain="k8s.test") for name, text in values(pod) if "ADDR" in name}
    assert told == {"mnist-master.mnist.lab.svc.k8s.test"}


def test_a_pod_in_its_nodes_network_still_knows_the_clusters_names() -> None:
    for pod in pods(template={"spec": HOST}):
        assert pod["spec"]["dnsPolicy"] == "ClusterFirstWithHostNet"
    own = {**HOST, "dnsPolicy": "Default"}
    assert pods(template={"spec": own})[0]["spec"]["dnsPolicy"] == "Default"
    assert "dnsPolicy" not in pods()[0]["spec"]


def test_two_masters_on_one_port_do_not_meet_on_one_node() -> None:
    master, *workers = pods(template={"spec": HOST}, port=29501)
    trainer, side = master["spec"]["containers"]
    assert trainer["ports"] == [{"containerPort": 29501, "hostPort": 29501}]
    assert "ports" not in side
    for pod in workers + pods():
        assert all("ports" not in item for item in pod["spec"]["containers"])


def test_a_port_that_the_user_declares_is_not_declared_twice() -> None:
    mine = [{"name": "mine", "containerPort": 29500}]
    container = {"name": "trainer", "image": "m", "ports": mine}
    master = pods(template={"spec": {"hostNetwork": True, "containers": [container]}})[0]
    assert master["spec"]["containers"][0]["ports"] == mine


def test_what_a_mesh_is_told_reaches_all_pods_alike() -> None:
    marks = {"sidecar.istio.io/inject": "false"}
    template = {
        "metadata": {"labels": marks, "annotations": marks},
        "spec": {"containers": [{"name": "trainer", "image": "m"}]},
    }
    for pod in pods(template=template):
        assert pod["metadata"]["labels"] | marks == pod["metadata"]["labels"]
        assert pod["metadata"]["annotations"] | marks == pod["metadata"]["annotations"]


def test_no_webhook_stands_between_users_and_their_jobs() -> None:
    chart = (ROOT / "charts").rglob("*.yaml")
    assert not [path for path in chart if "WebhookConfiguration" in path.read_text()]
    assert "conversion" not in (ROOT / "crds" / "trainingjob.yaml").read_text()


def test_one_version_of_the_resource_is_served_and_stored() -> None:
    text = (ROOT / "crds" / "trainingjob.yaml").read_text()
    assert (text.count("storage: true"), text.count("served: true")) == (1, 1)
    assert "served: false" not in text
