"""An elastic group changes its size and goes on from the step that it had reached."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from e2e import jobs, volumes
from e2e.harness import Cluster, Manifest, Namespace

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

JOB = Path(__file__).parents[2] / "examples/04-elastic/job.yaml"


@pytest.fixture
def checkpoint(cluster: Cluster, lab: Namespace) -> Iterator[str]:
    """A file of the test's own in a claim that the example's pods can mount."""
    with volumes.checkpoint(cluster, lab) as file:
        yield file


def test_a_scaled_group_goes_on_from_its_checkpoint(lab: Namespace, checkpoint: str) -> None:
    job: Manifest = yaml.safe_load(JOB.read_text())
    container = job["spec"]["template"]["spec"]["containers"][0]
    container["env"][0]["value"] = f"/checkpoints/{checkpoint}"
    lab.apply(job)
    lab.wait_for_line("elastic-master", "epoch 2 done by 3 ranks")
    lab.kubectl("scale", "trainingjob/elastic", "--replicas=2")
    status = lab.wait_for_end("elastic")
    log = lab.kubectl("logs", "elastic-master")
    assert status["phase"] == "Succeeded", status["message"]
    assert (status["attempt"], status["restarts"], status["disruptions"]) == (2, 0, 0)
    assert (status["groupSize"], status["ready"]) == (2, "2/2")
    assert status["attempts"][0]["reason"] == "Scaled"
    begin = re.search(r"rank 0 of 2 begins at epoch (\d+)", log)
    assert begin is not None
    assert int(begin[1]) >= 3
    accuracy = re.search(r"ends with accuracy (\d\.\d+)", log)
    assert accuracy is not None
    assert float(accuracy[1]) >= 0.93


def test_a_group_whose_part_finds_room_goes_on_with_it(lab: Namespace) -> None:
    """Two pods' worth of quota for a group of three: it shrinks, and says so."""
    lab.apply(jobs.a_quota(2))
    elastic = {"minInstances": 1, "maxInstances": 3}
    template = jobs.a_template(STEPS="4")
    lab.apply(jobs.a_job("shrink", 3, template, elastic=elastic, placementTimeoutSeconds=5))
    status = lab.wait_for_end("shrink")
    assert status["phase"] == "Succeeded", status["message"]
    assert (status["groupSize"], status["ready"], status["restarts"]) == (2, "2/2", 0)
    assert [past["reason"] for past in status["attempts"]] == ["Shrunk"]
