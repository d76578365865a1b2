"""A group on one machine has its pods' environment, with nobody's address but its own."""

import json

import pytest

from trainingjobs.client import local
from trainingjobs.model.job import Invalid, TrainingJob

PORTS = [40_001, 40_002, 40_003]


def environments(framework: str, processes: int = 1, **own: str) -> list[dict[str, str]]:
    group = local.job(3, processes, framework)
    assert isinstance(group, TrainingJob)
    return local.environments(group, PORTS, 8, own)


@pytest.mark.parametrize("framework", ["PyTorch", "TensorFlow", "JAX", "None"])
def test_no_name_of_a_cluster_is_left(framework: str) -> None:
    for env in environments(framework):
        assert not [name for name, text in env.items() if "cluster.local" in text]
        assert (env["PARALLEL_INSTANCES"], env["OMP_NUM_THREADS"]) == ("3", "2")


def test_pytorch() -> None:
    found = environments("PyTorch", 2)
    assert [env["RANK"] for env in found] == ["0", "2", "4"]
    assert [env["PET_NODE_RANK"] for env in found] == ["0", "1", "2"]
    for env in found:
        assert (env["MASTER_ADDR"], env["MASTER_PORT"]) == ("127.0.0.1", "40001")
        assert (env["PET_MASTER_ADDR"], env["PET_MASTER_PORT"]) == ("127.0.0.1", "40001")
        assert (env["WORLD_SIZE"], env["OMP_NUM_THREADS"]) == ("6", "1")


def test_each_task_of_tensorflow_has_its_port() -> None:
    config = json.loads(environments("TensorFlow")[2]["TF_CONFIG"])
    assert config["cluster"] == {
        "chief": ["127.0.0.1:40001"],
        "worker": ["127.0.0.1:40002", "127.0.0.1:40003"],
    }
    assert config["task"] == {"type": "worker", "index": 1}


def test_jax() -> None:
    assert environments("JAX")[1]["JAX_COORDINATOR_ADDRESS"] == "127.0.0.1:40001"


def test_what_the_caller_says_of_threads_wins_and_what_it_says_of_the_group_does_not() -> None:
    (first, *_) = environments("PyTorch", OMP_NUM_THREADS="7", RANK="9", HOME="/home")
    assert (first["OMP_NUM_THREADS"], first["RANK"], first["HOME"]) == ("7", "0", "/home")


def test_nobody_takes_the_callers_rank_for_its_own() -> None:
    own = {"LOCAL_RANK": "3", "TF_CONFIG": "x", "TORCHELASTIC_RUN_ID": "7", "HOME": "/home"}
    for framework in ("None", "JAX"):
        for env in environments(framework, **own):
            assert own.keys() & env.keys() == {"HOME"}


@pytest.mark.parametrize(
    ("gpus", "shared"),
    [
        ([], [None, None, None]),
        (["0", "1", "2", "3"], ["0", "1", "2"]),
        (["4", "5", "6", "7", "8", "9"], ["4,5", "6,7", "8,9"]),
        (["0", "1"], ["0", "1", "0"]),
    ],
    ids=["none", "one each", "two each", "too few"],
)
def test_gpus_are_shared_out(gpus: list[str], shared: list[str | None]) -> None:
    group = local.job(3, 1, "PyTorch")
    assert isinstance(group, TrainingJob)
    found = local.environments(group, PORTS, 8, {}, gpus)
    assert [env.get("CUDA_VISIBLE_DEVICES") for env in found] == shared


@pytest.mark.parametrize(
    ("environ", "found"),
    [
        ({}, ["0", "2", "10"]),
        ({"CUDA_VISIBLE_DEVICES": "3, GPU-1f"}, ["3", "GPU-1f"]),
        ({"CUDA_VISIBLE_DEVICES": ""}, []),
    ],
)
def test_the_gpus_that_the_caller_may_use(environ: dict[str, str], found: list[str]) -> None:
    files = ["null", "nvidia10", "nvidia0", "nvidia2", "nvidiactl", "nvidia-uvm"]
    assert local.devices(environ, files) == found


def test_too_many() -> None:
    assert isinstance(local.job(3, 5000, "PyTorch"), Invalid)


@pytest.mark.parametrize(("found", "told"), [(0, 0), (3, 3), (-9, 137)])
def test_exit_codes_are_a_shells(found: int, told: int) -> None:
    assert local.exit_code(found) == told


def test_torchrun_starts_several() -> None:
    assert local.command("python", "a.py", ["-x"], torchrun=False) == ["python", "a.py", "-x"]
    many = local.command("python", "a.py", ["-x"], torchrun=True)
    assert many == ["python", "-m", "torch.distributed.run", "a.py", "-x"]
