"""TensorFlow and JAX train rightly: judged by numbers, as the examples of PyTorch are.

Instances that train alone, each on all data, end with exit code 0 as well. So the samples are
counted over the group, the replicas compared bit by bit, and the losses held against those of
one instance with the same global batch. And the roll call finds nothing wrong with any of them.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from e2e import images
from e2e.deployed import Operator
from e2e.harness import Cluster, Manifest, Namespace
from e2e.lessons import EVERY_SAMPLE_ONCE, TRAIN_SIZE, Report, example
from e2e.rollcall.history import History, alarms, found, holds

pytestmark = pytest.mark.timeout(1800)
"""Images of gigabytes and minutes of imports: a part of `make examples` alone."""

SECONDS = 600
"""Several pods that import TensorFlow at once on two cores take their time."""
EPOCHS = 15
STEPS_OF_WORKERS = EPOCHS * TRAIN_SIZE // 40

HANGS = """
import time, jax, numpy as np, trainingjob
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
jax.distributed.initialize()
mesh = Mesh(np.array(jax.devices()), ("d",))
specs = {"in_specs": P("d"), "out_specs": P()}
total = jax.jit(jax.shard_map(lambda x: jax.lax.psum(x, "d"), mesh=mesh, **specs))
def load(step):
    if step == 20 and jax.process_index() == 1:
        time.sleep(3600)
for step in range(40):
    load(step)
    x = jax.make_array_from_process_local_data(NamedSharding(mesh, P("d")), np.ones(1))
    assert float(total(x)[0]) == jax.process_count()
    trainingjob.report(step=step + 1, total=40)
    time.sleep(0.5)
"""
"""Rank 1 never comes to its 21st step."""

Logs = dict[int, str]
Record = Callable[[str, object], None]


@pytest.fixture(scope="module", autouse=True)
def _images() -> None:
    images.load("tensorflow", "jax")


@pytest.fixture
def place(cluster: Cluster, operator: Operator) -> Iterator[tuple[Namespace, History]]:
    """A namespace, and all that is said in it."""
    del operator
    lab = cluster.new_namespace("frameworks")
    history = History(lab)
    history.begin()
    yield lab, history
    history.end(lambda: cluster.kubectl("delete", "namespace", lab.name, "--wait=false"))


def run(place: tuple[Namespace, History], folder: str, instances: int) -> Logs:
    """What each rank of an example with so many instances prints; no false alarm on the way."""
    lab, history = place
    job = example(folder)
    name = job["metadata"]["name"] = f"{job['metadata']['name']}-{instances}"
    job["spec"] |= {"PARALLEL_INSTANCES": instances, "cleanPodPolicy": "None"}
    lab.apply(job)
    status = lab.wait_for(name, holds("Finished"), seconds=SECONDS)
    assert status["phase"] == "Succeeded", status["message"]
    assert status.get("restarts", 0) == 0
    for said in history.of(name):
        assert not alarms(said.status), said.status["findings"]
        assert not holds("Stalled")(said.status), said.status["message"]
    pods = lab.ranks(name)
    return {rank: lab.kubectl("logs", pod["metadata"]["name"]) for rank, pod in pods.items()}


def reports(logs: Logs) -> list[Report]:
    """The last word of each rank, by rank."""
    lines = ([line for line in logs[rank].splitlines() if line[:1] == "{"] for rank in sorted(logs))
    return [json.loads(line) for (line,) in lines]


@pytest.mark.parametrize(
    "folder",
    [
        pytest.param(folder, marks=pytest.mark.example(folder))
        for folder in ("11-tensorflow", "13-jax")
    ],
)
def test_the_result_is_that_of_one_instance(
    place: tuple[Namespace, History], folder: str, record_property: Record
) -> None:
    (alone,) = reports(run(place, folder, 1))
    group = reports(run(place, folder, 3))
    assert [who(report) for report in group] == [who_of(folder, rank) for rank in range(3)]
    assert [report["world_size"] for report in (alone, *group)] == [1, 3, 3, 3]
    for epoch in (0, -1):
        shares = [int(report["seen"][epoch], 16) for report in group]
        assert sum(shares) == EVERY_SAMPLE_ONCE  # of as many powers of two: none is there twice
        assert [share.bit_count() for share in shares] == [TRAIN_SIZE // 3] * 3
    assert group[0]["seen"][0] != group[0]["seen"][-1]
    assert len({report["parameters_sha256"] for report in group}) == 1
    for report in group:
        assert report["losses"] == pytest.approx(alone["losses"], abs=1e-3)
        assert report["losses"][-1] < 0.07
        assert report["accuracy"] >= 0.94
    record_property("checked", f"loss {group[0]['losses'][-1]:.4f}, as of one instance")


def who(report: Report) -> Any:
    """How a framework calls this instance."""
    return report.get("task", report.get("rank"))


def who_of(folder: str, rank: int) -> Any:
    """How it should call it: TensorFlow numbers the workers from 0, beside its chief."""
    if folder == "13-jax":
        return rank
    return ["worker", rank - 1] if rank else ["chief", 0]


@pytest.mark.example("12-tensorflow-ps")
def test_workers_share_the_steps_and_the_server_has_the_model(
    place: tuple[Namespace, History], record_property: Record
) -> None:
    logs = run(place, "12-tensorflow-ps", 4)
    (told,) = [json.loads(line) for line in logs[0].splitlines() if line[:1] == "{"]
    (alone,) = reports({0: run(place, "12-tensorflow-ps", 3)[0]})
    assert alone["tasks"] == {"chief": 1, "worker": 1, "ps": 1}
    assert told["tasks"] == {"chief": 1, "worker": 2, "ps": 1}
    assert told["used"] == alone["used"] == [[times] for times in range(1, EPOCHS + 1)]
    assert [serves(logs[rank]) for rank in (1, 2, 3)] == ["worker 0", "worker 1", "ps 0"]
    steps = [logs[rank].count("\nloss ") for rank in (1, 2, 3)]
    assert sum(steps) == STEPS_OF_WORKERS
    assert steps[0] > 0 < steps[1]
    assert told["losses"] == pytest.approx(alone["losses"], abs=0.15)
    assert told["losses"][-1] < 0.15
    assert told["accuracy"] >= 0.93
    record_property("checked", f"loss {told['losses'][-1]:.4f}; {STEPS_OF_WORKERS} steps shared")


def serves(log: str) -> str:
    """As what an instance serves."""
    (line,) = [line for line in log.splitlines() if line.endswith(" serves")]
    return line.removesuffix(" serves")


@pytest.mark.example("12-tensorflow-ps")
def test_the_master_s_success_ends_those_that_serve(
    place: tuple[Namespace, History], record_property: Record
) -> None:
    """As it is committed: workers and servers that would wait for ever are taken away."""
    lab, _ = place
    job: Manifest = example("12-tensorflow-ps")
    name = job["metadata"]["name"]
    container = job["spec"]["template"]["spec"]["containers"][0]
    container["env"].append({"name": "EPOCHS", "value": "1"})
    lab.apply(job)
    assert lab.wait_for(name, holds("Finished"), seconds=SECONDS)["phase"] == "Succeeded"
    lab.wait("pods", lambda pods: {*pods} == {f"{name}-master"}, job=name)
    record_property("checked", "ends with its master")


@pytest.mark.example("13-jax")
def test_a_hang_is_named_where_the_script_tells_its_steps(
    place: tuple[Namespace, History], record_property: Record
) -> None:
    lab, _ = place
    job = example("13-jax")
    job["spec"]["stallTimeoutSeconds"] = 30
    (container,) = job["spec"]["template"]["spec"]["containers"]
    container["command"] = ["python", "-c", HANGS]
    lab.apply(job)
    name = job["metadata"]["name"]
    status = lab.wait_for(name, holds("Stalled"), seconds=SECONDS)
    assert found(status, "Stalled")["ranks"] == "1"
    line = HANGS.splitlines().index("        time.sleep(3600)") + 1
    assert found(status, "Stalled")["line"] == f"<string>:{line}"
    assert status["progress"] == "50%"
    record_property("checked", "who hangs, and where")
