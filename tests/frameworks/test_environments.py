"""Which variables make a group, for each framework, as golden tables."""

import json
from dataclasses import replace
from typing import Any

import pytest

from builders import DOMAIN, SITE, UID, a_job
from trainingjobs import frameworks
from trainingjobs.frameworks.base import Place
from trainingjobs.model import names
from trainingjobs.model.spec import Framework
from trainingjobs.model.status import Status
from trainingjobs.plan import manifests

MASTER = "mnist-master.mnist.lab.svc.cluster.local"


def variables(rank: int, size: int = 3, **spec: Any) -> dict[str, str]:
    return frameworks.environment(Place(job=a_job(size, **spec), rank=rank, domain=DOMAIN))


def test_pytorch_golden() -> None:
    assert variables(2, processesPerInstance=2) == {
        "PARALLEL_INSTANCES": "3",
        "TRAININGJOB_NAME": "mnist",
        "TRAININGJOB_ATTEMPT": "1",
        "TRAININGJOB_ROLE": "worker",
        "MASTER_ADDR": MASTER,
        "MASTER_PORT": "29500",
        "WORLD_SIZE": "6",
        "RANK": "4",
        "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": "2",
        "NODE_RANK": "2",
        "GROUP_RANK": "2",
        "NNODES": "3",
        "PET_NNODES": "3",
        "PET_NPROC_PER_NODE": "2",
        "PET_NODE_RANK": "2",
        "PET_MASTER_ADDR": MASTER,
        "PET_MASTER_PORT": "29500",
        "PET_RDZV_ID": f"{UID}-1",
    }


@pytest.mark.parametrize("size", [1, 2, 3, 8])
@pytest.mark.parametrize("processes", [1, 2])
def test_all_ranks_agree_but_for_their_rank(size: int, processes: int) -> None:
    each = [variables(rank, size, processesPerInstance=processes) for rank in range(size)]
    own = {"RANK", "NODE_RANK", "GROUP_RANK", "PET_NODE_RANK", "TRAININGJOB_ROLE"}
    shared = [{name: text for name, text in env.items() if name not in own} for env in each]
    assert all(env == shared[0] for env in shared)
    assert [int(env["RANK"]) for env in each] == [rank * processes for rank in range(size)]
    assert [env["TRAININGJOB_ROLE"] for env in each] == ["master"] + ["worker"] * (size - 1)


@pytest.mark.parametrize(
    ("limits", "processes"),
    [({}, 1), ({"cpu": "4"}, 4), ({"cpu": "500m"}, 1), ({"cpu": 8, "nvidia.com/gpu": 2}, 2)],
)
def test_auto_counts_gpus_else_cpus_else_one(limits: dict[str, Any], processes: int) -> None:
    template = {"spec": {"containers": [{"name": "t", "resources": {"limits": limits}}]}}
    env = variables(1, 2, processesPerInstance="auto", template=template)
    assert (env["WORLD_SIZE"], env["RANK"]) == (str(2 * processes), str(processes))


WORKERS = [f"mnist-worker-{n}.mnist.lab.svc.cluster.local:29500" for n in range(2)]
CHIEF_ALONE = {"chief": [f"{MASTER}:29500"]}
CLUSTERS = {
    1: CHIEF_ALONE,
    2: CHIEF_ALONE | {"worker": WORKERS[:1]},
    3: CHIEF_ALONE | {"worker": WORKERS},
}
TASKS = [
    {"type": "chief", "index": 0},
    {"type": "worker", "index": 0},
    {"type": "worker", "index": 1},
]


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_tensorflow_golden(size: int, processes: int) -> None:
    """One task for each instance, a chief and workers; no evaluator, and never a `master`."""
    for rank in range(size):
        env = variables(rank, size, framework="TensorFlow", processesPerInstance=processes)
        assert json.loads(env["TF_CONFIG"]) == {"cluster": CLUSTERS[size], "task": TASKS[rank]}


@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_each_task_of_tensorflow_has_its_own_address(size: int) -> None:
    """Two pods with one index, or an index without an address, would wait for ever."""
    told = [
        json.loads(variables(rank, size, framework="TensorFlow")["TF_CONFIG"])
        for rank in range(size)
    ]
    own = [one["cluster"][one["task"]["type"]][one["task"]["index"]] for one in told]
    places = (Place(job=a_job(size), rank=rank, domain=DOMAIN) for rank in range(size))
    assert own == [f"{place.address(place.rank)}:29500" for place in places]
    assert all(one["cluster"] == told[0]["cluster"] for one in told)
    assert sum(map(len, told[0]["cluster"].values())) == len(set(own)) == size


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("processes", [1, 2])
def test_jax_golden(size: int, processes: int) -> None:
    for rank in range(size):
        env = variables(rank, size, framework="JAX", processesPerInstance=processes)
        assert env == {
            "PARALLEL_INSTANCES": str(size),
            "TRAININGJOB_NAME": "mnist",
            "TRAININGJOB_ATTEMPT": "1",
            "TRAININGJOB_ROLE": "worker" if rank else "master",
            "JAX_COORDINATOR_ADDRESS": f"{MASTER}:29500",
            "JAX_NUM_PROCESSES": str(size * processes),
            "JAX_PROCESS_ID": str(rank * processes),
            "SLURM_JOB_ID": "1",
            "SLURM_STEP_NODELIST": MASTER,
            "SLURM_NTASKS": str(size * processes),
            "SLURM_PROCID": str(rank * processes),
            "SLURM_LOCALID": "0",
        }


@pytest.mark.parametrize(
    ("gpus", "processes", "devices"),
    [(0, 1, None), (1, 1, "0"), (4, 1, "0,1,2,3"), (4, 4, None), (10**9, 1, None)],
    ids=["no GPU", "one", "an only process has all", "else each has its own", "a slip"],
)
def test_which_gpus_a_process_of_jax_sees(gpus: int, processes: int, devices: str | None) -> None:
    limits = {"nvidia.com/gpu": gpus} if gpus else {}
    template = {"spec": {"containers": [{"name": "t", "resources": {"limits": limits}}]}}
    env = variables(0, framework="JAX", processesPerInstance=processes, template=template)
    assert env.get("JAX_LOCAL_DEVICE_IDS") == devices


def test_no_framework_golden() -> None:
    assert variables(2, framework="None", processesPerInstance=2) == {
        "PARALLEL_INSTANCES": "3",
        "TRAININGJOB_NAME": "mnist",
        "TRAININGJOB_ATTEMPT": "1",
        "TRAININGJOB_ROLE": "worker",
        "MASTER_ADDR": MASTER,
        "MASTER_PORT": "29500",
        "WORLD_SIZE": "6",
        "RANK": "4",
        "LOCAL_WORLD_SIZE": "2",
        "TRAININGJOB_WORKER_ADDR": "mnist-worker-%d.mnist.lab.svc.cluster.local",
    }


@pytest.mark.parametrize("framework", ["MPI", "Horovod"])
@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("processes", [1, 2])
def test_mpi_and_horovod_golden(framework: str, size: int, processes: int) -> None:
    """Ranks are the launcher's to give: a variable of that name would mislead."""
    for rank in range(size):
        found = variables(rank, size, framework=framework, processesPerInstance=processes)
        assert found == {
            "PARALLEL_INSTANCES": str(size),
            "TRAININGJOB_NAME": "mnist",
            "TRAININGJOB_ATTEMPT": "1",
            "TRAININGJOB_ROLE": "worker" if rank else "master",
            "MASTER_ADDR": MASTER,
            "MASTER_PORT": "29500",
            "WORLD_SIZE": str(size * processes),
            "LOCAL_WORLD_SIZE": str(processes),
            "TRAININGJOB_WORKER_ADDR": "mnist-worker-%d.mnist.lab.svc.cluster.local",
            "TRAININGJOB_ADDR": a_place(rank).address(rank),
            "TRAININGJOB_HOSTFILE": f"{LISTS}/hostfile",
        }


LISTS = f"/dev/shm/{names.lists(UID, 1)}"


def a_place(rank: int, framework: Framework = Framework.MPI, attempt: int = 1) -> Place:
    job = a_job(framework=framework, status=Status(attempt=attempt))
    return Place(job=job, rank=rank, domain=DOMAIN)


@pytest.mark.parametrize("framework", [Framework.MPI, Framework.HOROVOD])
def test_every_launcher_is_told_the_hosts_and_our_ssh(framework: Framework) -> None:
    """Open MPI 4 and 5, MPICH and Intel MPI, each by its own names."""
    ssh, hosts, machines = (
        "/run/trainingjob-launch/ssh",
        f"{LISTS}/hostfile",
        f"{LISTS}/machinefile",
    )
    assert frameworks.wishes(a_place(2, framework)) == {
        "OMPI_MCA_orte_default_hostfile": hosts,
        "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
        "OMPI_MCA_plm_rsh_agent": ssh,
        "OMPI_MCA_hwloc_base_binding_policy": "none",
        "PRTE_MCA_prte_default_hostfile": hosts,
        "PRTE_MCA_prte_keep_fqdn_hostnames": "true",
        "PRTE_MCA_plm_ssh_agent": ssh,
        "PRTE_MCA_hwloc_default_binding_policy": "none",
        "OMPI_MCA_mpi_yield_when_idle": "true",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "PRTE_ALLOW_RUN_AS_ROOT": "1",
        "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "HYDRA_HOST_FILE": machines,
        "HYDRA_LAUNCHER": "ssh",
        "HYDRA_LAUNCHER_EXEC": ssh,
        "I_MPI_HYDRA_HOST_FILE": machines,
        "I_MPI_HYDRA_BOOTSTRAP": "ssh",
        "I_MPI_HYDRA_BOOTSTRAP_EXEC": ssh,
    }


def test_no_two_attempts_and_no_two_jobs_share_their_lists() -> None:
    """Pods of one node may share a memory: the user's own volume at /dev/shm."""
    job = a_job(framework="MPI")
    other, again = replace(job, uid="another"), replace(job, status=Status(attempt=2))
    files = [
        frameworks.environment(Place(job=it, rank=rank, domain=DOMAIN))["TRAININGJOB_HOSTFILE"]
        for it in (job, other, again)
        for rank in (0, 1)
    ]
    assert files[::2] == files[1::2], "a launcher tells its daemons where the lists are"
    assert len(set(files)) == 3
    assert all(file.startswith("/dev/shm/trainingjob-") for file in files)


def test_what_launchers_are_told_is_the_users_to_change_and_the_trainers_alone() -> None:
    name = "OMPI_MCA_plm_rsh_agent"
    main = {"name": "trainer", "image": "m", "command": ["mpirun"]}
    own = {**main, "env": [{"name": name, "value": "mine"}], "envFrom": [{"configMapRef": {}}]}
    template = {"spec": {"containers": [own, {"name": "sidecar", "image": "m"}]}}
    spec = manifests.pod(a_job(framework="MPI", template=template), 1, SITE)["spec"]
    trainer, sidecar = ({it["name"]: it["value"] for it in c["env"]} for c in spec["containers"])
    assert trainer[name] == "mine"
    assert trainer["HYDRA_LAUNCHER"] == "ssh"
    assert name not in sidecar
    assert sidecar["MASTER_ADDR"] == MASTER


def test_the_pattern_is_that_of_every_worker() -> None:
    place = Place(job=a_job(12, name="a-worker-0"), rank=0, domain=DOMAIN)
    for number in range(11):
        assert place.worker_address % number == place.address(number + 1)
