"""No false alarm: the examples train rightly, and the roll call says nothing else of them.

These are the four that train replicas; the others' checks look for alarms themselves. One round
of all four is made; `make e2e ROLLCALL_ROUNDS=10` makes ten.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from e2e import volumes
from e2e.deployed import Operator
from e2e.harness import Cluster, Manifest, Namespace
from e2e.rollcall.history import History, alarms, holds

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

EXAMPLES = Path(__file__).parents[2] / "examples"
ROUNDS = int(os.environ.get("ROLLCALL_ROUNDS", "1"))
ALL_IS_WELL = ("Registered", "DataSharded", "ModelWrapped")


@pytest.fixture
def place(cluster: Cluster, operator: Operator) -> Iterator[tuple[Namespace, History, str]]:
    """A namespace, all that is said in it, and the file that example 04 saves to."""
    del operator
    lab = cluster.new_namespace("alarms")
    history = History(lab)
    history.begin()
    with volumes.checkpoint(cluster, lab) as file:
        yield lab, history, file
        cluster.kubectl("delete", "namespace", lab.name, "--wait=false")
        history.end()


def example(folder: Path, file: str) -> Manifest:
    """An example's job, as it is committed; what it saves goes to this file."""
    job: Manifest = yaml.safe_load((folder / "job.yaml").read_text())
    for variable in job["spec"]["template"]["spec"]["containers"][0]["env"]:
        if variable["name"] == "CHECKPOINT":
            variable["value"] = f"/checkpoints/{file}"
    return job


@pytest.mark.parametrize("number", range(1, ROUNDS + 1))
def test_nothing_is_wrong_with_the_examples(
    place: tuple[Namespace, History, str], number: int
) -> None:
    del number
    lab, history, file = place
    jobs = [example(path.parent, file) for path in sorted(EXAMPLES.glob("0[1-4]-*/job.yaml"))]
    names = [job["metadata"]["name"] for job in jobs]
    for job in jobs:
        lab.apply(job)
    for name in names:
        status = lab.wait_for_end(name)
        assert status["phase"] == "Succeeded", status["message"]
    for name in names:
        check(name, [said.status for said in history.of(name)])


def check(name: str, said: list[Manifest]) -> None:
    """A job was whole and well, and nothing else was ever said of it."""
    for about in ALL_IS_WELL:
        assert any(holds(about)(status) for status in said), f"{name}: {about} was never True"
    for status in said:
        assert not alarms(status), f"{name}: {status['findings']}"
        assert not holds("Stalled")(status), f"{name}: {status['message']}"
        assert not holds("DataSharded", "False")(status), f"{name}: {status['message']}"
        assert not holds("ModelWrapped", "False")(status), f"{name}: {status['message']}"
