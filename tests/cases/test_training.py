"""What trains wrongly, runs short of something or dies of a well-known mistake."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from builders import SITE, a_job, a_pod, ended, seen
from cases.given import decided
from trainingjobs.model.status import Phase
from trainingjobs.plan import manifests

BUS = "RuntimeError: DataLoader worker (pid 77) is killed by signal: Bus error."
IN_USE = "DistNetworkError: name: EADDRINUSE, message: address already in use"
REFUSED = "RuntimeError: Connection refused"
TIMED_OUT = "DistNetworkError: The client socket has timed out after 60000ms"
CLOSED = "RuntimeError: Connection closed by peer [10.0.0.7]:39284"
MISMATCH = (
    "RuntimeError: Detected mismatch between collectives on ranks. Rank 0 is running ALLREDUCE"
)
WAITED = "RuntimeError: Timed out waiting 1800000ms for recv operation to complete"


def pod(size: int, rank: int, **spec: Any) -> dict[str, Any]:
    return manifests.pod(a_job(size, **spec), rank, SITE)


def environment(made: dict[str, Any]) -> dict[str, str]:
    return {item["name"]: item["value"] for item in made["spec"]["containers"][0]["env"]}


def message_of(*pods: Any, **spec: Any) -> str:
    return decided(seen(*pods), maxRestarts=0, **spec).status.message


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_every_instance_of_tensorflow_finds_itself_and_no_other_is_it(size: int) -> None:
    places: list[str] = []
    clusters: list[str] = []
    for rank in range(size):
        made = pod(size, rank, framework="TensorFlow")
        config = json.loads(environment(made)["TF_CONFIG"])
        kind, index = config["task"]["type"], config["task"]["index"]
        own = config["cluster"][kind][index]
        host = made["spec"]
        assert own.startswith(f"{host['hostname']}.{host['subdomain']}.")
        places.append(own)
        clusters.append(json.dumps(config["cluster"]))
    assert len(set(places)) == size
    assert len(set(clusters)) == 1


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_there_is_one_chief_which_is_the_master_and_no_role_that_others_wait_for(
    size: int,
) -> None:
    for rank in range(size):
        config = json.loads(environment(pod(size, rank, framework="TensorFlow"))["TF_CONFIG"])
        assert set(config["cluster"]) <= {"chief", "worker"}
        assert len(config["cluster"]["chief"]) == 1
        assert (config["task"]["type"] == "chief") == (rank == 0)


def test_shared_memory_is_bounded_by_the_containers_memory_alone() -> None:
    spec = pod(3, 1)["spec"]
    (mount,) = spec["containers"][0]["volumeMounts"]
    (volume,) = spec["volumes"]
    assert (mount["name"], mount["mountPath"]) == (volume["name"], "/dev/shm")
    assert volume["emptyDir"] == {"medium": "Memory"}


@pytest.mark.parametrize(
    "fallen", [ended(1, 1, message=BUS), ended(1, 135), ended(1, 1, message="Bus error")]
)
def test_too_little_shared_memory_is_called_so(fallen: Any) -> None:
    words = message_of(a_pod(0), fallen, a_pod(2))
    assert re.search("; SharedMemoryTooSmall: (most often )?/dev/shm is full", words)


@pytest.mark.parametrize("others", [REFUSED, TIMED_OUT])
def test_a_port_that_is_in_use_is_the_masters_trouble(others: str) -> None:
    """The others only time out, or are refused in the same second."""
    pods = [ended(0, 1, after=2 * (others == REFUSED) - 1, message=IN_USE)]
    pods += [ended(rank, 1, after=1, message=others) for rank in (1, 2)]
    status = decided(seen(*pods), maxRestarts=0).status
    assert status.failure is not None
    assert (status.failure.rank, status.failure.victims) == (0, "1-2")
    assert "PortInUse: " in status.message
    assert status.message.startswith("rank 0 (mnist-master on node-a) exited with code 1: ")


def test_ranks_that_had_fewer_batches_are_named_by_who_misses_them() -> None:
    words = message_of(a_pod(0), ended(1, 0), ended(2, 1, after=5, message=CLOSED))
    assert "rank 2 (mnist-worker-1 on node-a) exited with code 1: " in words
    assert "UnevenInputs: rank 1 had ended before: give each rank the same number" in words


def test_a_master_that_left_first_is_named_by_who_misses_it() -> None:
    words = message_of(ended(0, 0), ended(1, 1, after=5, message="RuntimeError: Broken pipe"))
    assert "MasterLeft: rank 0 had ended, and the store with it: end with a barrier" in words


@pytest.mark.parametrize(
    ("words", "name"), [(MISMATCH, "CollectivesDiffer"), (WAITED, "CollectiveTimeout")]
)
def test_collectives_that_do_not_meet_are_told_with_what_to_do(words: str, name: str) -> None:
    assert f"{words}; {name}: " in message_of(a_pod(0), ended(1, 1, message=words), a_pod(2))


def test_ranks_that_never_reach_the_master_are_told_where_to_look() -> None:
    words = message_of(a_pod(0), ended(1, 1, message=TIMED_OUT), a_pod(2))
    assert "RendezvousTimeout: not every rank reached the master's port in time" in words
    assert "NetworkPolicy" in words


def test_a_sidecar_in_some_of_the_pods_is_told_with_the_ranks_that_cannot_meet() -> None:
    """The user's own is no stranger, nor is one that is an init container with a life."""
    containers = [{"name": "trainer", "image": "m"}, {"name": "logs", "image": "l"}]
    helpers = [{"name": "cache", "image": "c", "restartPolicy": "Always"}]
    template = {"spec": {"containers": containers, "initContainers": helpers}}
    mesh = a_pod(0, beside=("logs", "istio-proxy", "cache"))
    fallen = replace(ended(1, 1, message=TIMED_OUT), beside=("logs", "cache"))
    proxied = a_pod(2, beside=("istio-proxy", "logs", "cache"))
    words = message_of(mesh, fallen, proxied, template=template)
    told = "; InjectedSidecar: somebody put istio-proxy into rank 0,2 (restarted 0 of 0 times)"
    assert words.endswith(told)
    plain = message_of(a_pod(0, beside=("logs",)), fallen, a_pod(2), template=template)
    assert "InjectedSidecar" not in plain
    other = replace(ended(1, 1, message="ValueError: no"), beside=("istio-proxy",))
    assert "InjectedSidecar" not in message_of(a_pod(0), other, a_pod(2))


def test_an_interface_in_the_form_of_another_library_is_told() -> None:
    fallen = ended(1, 1, message="RuntimeError: Unable to find address for: ^lo,docker")
    words = message_of(a_pod(0), fallen, a_pod(2))
    assert "InterfaceUnknown: GLOO_SOCKET_IFNAME takes names of interfaces" in words


def test_a_torn_checkpoint_is_called_so_and_burns_no_budget_for_ever() -> None:
    torn = "RuntimeError: PytorchStreamReader failed finding central directory (train.py:31)"
    status = decided(seen(a_pod(0), ended(1, 1, message=torn), a_pod(2))).status
    assert status.phase is Phase.RESTARTING
    assert "CheckpointTorn: a file was not written to its end" in status.message
