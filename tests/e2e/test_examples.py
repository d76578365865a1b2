"""The examples train rightly: judged by what each rank reports, not by exit codes.

Wrong sharding, missing gradients' averages and torn saves all end with exit code 0 and a
model. So the samples are counted, the replicas compared bit by bit, and the losses held
against those of one process that had all data to itself.
"""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e import deployed
from e2e.harness import Cluster, Manifest, Namespace

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

EXAMPLES = Path(__file__).parents[2] / "examples"
TRAIN_SIZE = 1440
EVERY_SAMPLE_ONCE = 2**TRAIN_SIZE - 1

Report = dict[str, Any]


def example(folder: str) -> Manifest:
    """An example's job, as it is committed."""
    manifest: Manifest = yaml.safe_load((EXAMPLES / folder / "job.yaml").read_text())
    return manifest


def trained(lab: Namespace, job: Manifest) -> list[Report]:
    """What each rank of a job reports in the end, by rank."""
    name = job["metadata"]["name"]
    lab.apply(job)
    status = lab.wait_for_end(name)
    assert status["phase"] == "Succeeded", status["message"]
    logs = [lab.kubectl("logs", pod) for pod in lab.objects("pods", name)]
    told = [json.loads(line) for log in logs for line in log.splitlines() if line[:1] == "{"]
    return sorted(told, key=lambda report: report["rank"])


@pytest.fixture(scope="module")
def alone(cluster: Cluster, operator: deployed.Operator) -> Report:
    """The report of one process with the same global batch: what all others must reach."""
    del operator
    lab = cluster.new_namespace("alone")
    job = example("01-ddp")
    job["spec"]["PARALLEL_INSTANCES"] = 1
    (report,) = trained(lab, job)
    cluster.kubectl("delete", "namespace", lab.name, "--wait=false")
    return report


@pytest.mark.parametrize(("folder", "ranks"), [("01-ddp", 3), ("02-spawn", 4), ("03-torchrun", 4)])
def test_the_result_is_that_of_one_process(
    lab: Namespace, alone: Report, folder: str, ranks: int
) -> None:
    reports = trained(lab, example(folder))
    assert [report["rank"] for report in reports] == list(range(ranks))
    assert {report["world_size"] for report in reports} == {ranks}
    check_samples(reports)
    check_models(reports)
    for report in reports:
        assert report["losses"] == pytest.approx(alone["losses"], abs=1e-4)
        assert report["accuracy"] >= 0.93


def check_samples(reports: list[Report]) -> None:
    """Every sample was seen exactly once in an epoch, and each epoch was shuffled anew.

    With as many terms as samples, powers of two add up to all bits set only if none is twice
    there.
    """
    epochs = [[int(report["seen"][epoch], 16) for report in reports] for epoch in (0, -1)]
    for shares in epochs:
        assert sum(shares) == EVERY_SAMPLE_ONCE
        assert [share.bit_count() for share in shares] == [TRAIN_SIZE // len(reports)] * len(shares)
    first, last = epochs
    assert first != last


def check_models(reports: list[Report]) -> None:
    """All replicas are equal to the last bit, and one rank saved what they are."""
    (digest,) = {report["parameters_sha256"] for report in reports}
    assert [report["saved_sha256"] for report in reports] == [digest, *[None] * (len(reports) - 1)]
