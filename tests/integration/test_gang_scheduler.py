"""Kubernetes' own gang scheduling by its own scheduler: a group gets all of its room, or none.

The API server, the controller manager and the scheduler are real and have the beta gate on; the
node is only said to be there, and the test is its kubelet.
"""

import itertools
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, config
from kubernetes.client import exceptions

from integration.conftest import CRDS
from integration.jobs import Body, a_job
from integration.operators import Served, eventually, operator
from integration.server import ApiServer, api_server, running
from localcluster import assets, binaries, gang
from trainingjobs.model.gang import Gang

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(assets.VARIABLE in os.environ, reason="named assets have no scheduler"),
]

PARTS = {
    "kube-scheduler": "--leader-elect=false",
    "kube-controller-manager": "--controllers=podgroup-protection-controller",
}
CORES = 4
ALL = "--all-namespaces"
_numbers = itertools.count()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """A control plane that places groups as a whole, and one node."""
    folder = tmp_path_factory.mktemp("gang")
    programs = binaries.ensure([*PARTS])
    with api_server(folder, *gang.server(wanted=True)) as here, ExitStack() as parts:
        for name, flag in PARTS.items():
            options = [f"--kubeconfig={here.kubeconfig}", "--secure-port=0", "--leader-elect=false"]
            command = [str(programs / name), *options, flag, *gang.gates(wanted=True)]
            parts.enter_context(running(command, folder / f"{name}.log"))
        assert here.kubectl("apply", "-f", str(CRDS)).returncode == 0
        add_node(here)
        eventually(lambda: here.kubectl("get", "trainingjobs", ALL).returncode == 0)
        yield here


def add_node(server: ApiServer) -> None:
    """A node with a few cores, as its kubelet would tell of it."""
    core = client.CoreV1Api(config.new_client_from_config(str(server.kubeconfig)))
    core.create_node({"metadata": {"name": "node-a"}})
    core.patch_node("node-a", {"spec": {"taints": None}})
    room = {"cpu": str(CORES), "memory": "8Gi", "pods": "110"}
    ready = {"type": "Ready", "status": "True"}
    core.patch_node_status("node-a", {"status": {"allocatable": room, "conditions": [ready]}})


class Place(Served):
    """A namespace on the node; the kubelet of its pods."""

    def ask(self, name: str, cores: float, instances: int = 3) -> None:
        """A job of so many instances with so many cores each."""
        body = a_job(name, PARALLEL_INSTANCES=instances, maxRestarts=3)
        (container,) = body["spec"]["template"]["spec"]["containers"]
        container["resources"] = {"requests": {"cpu": str(cores)}}
        self.apply(body)

    def bound(self, job: str) -> list[bool]:
        """Which pods of a job have a node."""
        label = f"app.kubernetes.io/instance={job}"
        pods = self.core.list_namespaced_pod(self.namespace, label_selector=label).items
        return [pod.spec.node_name is not None for pod in pods]

    def groups(self) -> dict[str, Body]:
        """Pod groups by name."""
        group, _, version = Gang.KUBERNETES.value.partition("/")
        where = (group, version, self.namespace, "podgroups")
        listed = self.custom.list_namespaced_custom_object(*where)["items"]
        return {item["metadata"]["name"]: item for item in listed}

    def end(self, job: str, code: int = 0) -> None:
        """Every container of a job ends."""
        label = f"app.kubernetes.io/instance={job}"
        for pod in self.core.list_namespaced_pod(self.namespace, label_selector=label).items:
            self._tell(pod.metadata.name, code)

    def remove(self, job: str) -> None:
        """The kubelet lets go of the pods that were told to leave."""
        label = f"app.kubernetes.io/instance={job}"
        for pod in self.core.list_namespaced_pod(self.namespace, label_selector=label).items:
            if pod.metadata.deletion_timestamp is not None:
                name = pod.metadata.name
                with suppress(exceptions.NotFoundException):  # gone since it was listed
                    self.core.delete_namespaced_pod(name, self.namespace, grace_period_seconds=0)

    def _tell(self, name: str, code: int) -> None:
        ended: dict[str, Any] = {
            "name": "trainer",
            "image": "i",
            "imageID": "",
            "ready": False,
            "restartCount": 0,
            "state": {"terminated": {"exitCode": code, "finishedAt": "2026-01-01T00:01:00Z"}},
        }
        phase = "Failed" if code else "Succeeded"
        status = {"status": {"phase": phase, "containerStatuses": [ended]}}
        self.core.patch_namespaced_pod_status(name, self.namespace, status)


@pytest.fixture
def place(server: ApiServer, tmp_path: Path) -> Iterator[Place]:
    name = f"gang-{next(_numbers)}"
    with operator(server, name, tmp_path) as served:
        here = Place(server, served)
        yield here
        assert not served.refused()
        assert "Traceback" not in served.log()
        for job in ("first", "second"):
            server.kubectl("delete", "trainingjob", job, "-n", name, "--ignore-not-found")
        server.kubectl("delete", "pods", "--all", "--force", "-n", name)


def test_of_two_that_need_all_the_room_one_gets_it_and_the_other_none(place: Place) -> None:
    place.ask("first", cores=1)
    eventually(lambda: place.bound("first") == [True] * 3)
    place.ask("second", cores=1)
    eventually(lambda: place.status_of("second").get("message"))
    time.sleep(3)
    assert place.bound("second") == [False] * 3
    assert place.status_of("second")["phase"] == "Pending"
    place.end("first")
    eventually(lambda: place.bound("second") == [True] * 3)
    eventually(lambda: place.status_of("first").get("phase") == "Succeeded")
    eventually(lambda: list(place.groups()) == ["second"])


def test_a_restarted_group_is_placed_as_a_whole_again(place: Place) -> None:
    place.ask("first", cores=1)
    eventually(lambda: place.bound("first") == [True] * 3)
    uid = place.groups()["first"]["metadata"]["uid"]
    place.end("first", code=1)
    eventually(lambda: place.status_of("first").get("attempt") == 2)
    eventually(lambda: place.remove("first") or place.bound("first") == [True] * 3)
    assert place.groups()["first"]["metadata"]["uid"] == uid


def test_two_that_come_together_do_not_take_half_each(place: Place) -> None:
    """Each needs three of four cores; pod by pod they would get two each and wait for ever."""
    place.ask("first", cores=1)
    place.ask("second", cores=1)
    eventually(lambda: [True] * 3 in (place.bound("first"), place.bound("second")))
    time.sleep(2)
    assert sorted((place.bound("first"), place.bound("second"))) == [[False] * 3, [True] * 3]
