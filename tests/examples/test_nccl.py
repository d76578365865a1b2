"""The GPU example, as far as it can be tested without a GPU: its pods and their environment."""

from typing import Any

import pytest
import yaml

from builders import SITE
from examples.test_manifests import EXAMPLES, read
from trainingjobs.plan import manifests

JOB = read(EXAMPLES / "17-nccl")


def trainer(instance: int) -> dict[str, Any]:
    """The training container of an instance."""
    (container,) = manifests.pod(JOB, instance, SITE)["spec"]["containers"]
    assert isinstance(container, dict)
    return container


@pytest.mark.parametrize("instance", [0, 1])
def test_there_is_a_process_for_each_gpu(instance: int) -> None:
    container = trainer(instance)
    assert container["resources"]["limits"]["nvidia.com/gpu"] == 4
    env = {item["name"]: item.get("value") for item in container["env"]}
    wanted = {
        "MASTER_ADDR": "nccl-master.nccl.lab.svc.cluster.local",
        "WORLD_SIZE": "8",
        "RANK": str(4 * instance),
        "LOCAL_WORLD_SIZE": "4",
        "PET_NNODES": "2",
        "PET_NPROC_PER_NODE": "4",
        "PET_NODE_RANK": str(instance),
        "NCCL_DEBUG": "WARN",
    }
    assert {name: env.get(name) for name in wanted} == wanted
    # NCCL finds its interfaces by itself, and its processes their GPUs by LOCAL_RANK
    assert not env.keys() & {"NCCL_SOCKET_IFNAME", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"}


def test_its_shared_memory_is_its_own_and_there_once() -> None:
    pod = manifests.pod(JOB, 0, SITE)["spec"]
    (mount,) = [it for it in trainer(0)["volumeMounts"] if it["mountPath"] == "/dev/shm"]
    (volume,) = [it for it in pod["volumes"] if it["name"] == mount["name"]]
    assert volume["emptyDir"] == {"medium": "Memory", "sizeLimit": "8Gi"}


def test_without_a_volume_of_its_own_it_would_have_the_operators() -> None:
    body = yaml.safe_load((EXAMPLES / "17-nccl/job.yaml").read_text())
    spec = body["spec"]["template"]["spec"]
    del spec["volumes"], spec["containers"][0]["volumeMounts"]
    pod = manifests.pod(read(EXAMPLES / "17-nccl", body), 0, SITE)["spec"]
    mounts = {it["mountPath"]: it["name"] for it in pod["containers"][0]["volumeMounts"]}
    (volume,) = [it for it in pod["volumes"] if it["name"] == mounts["/dev/shm"]]
    assert volume["emptyDir"]["medium"] == "Memory"
