"""An elastic group changes its size and goes on from the step that it had reached."""

import re
from collections.abc import Callable, Iterator

import pytest

from e2e import jobs, lessons, volumes
from e2e.harness import Cluster, Namespace

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]


@pytest.fixture
def checkpoint(cluster: Cluster, lab: Namespace) -> Iterator[str]:
    """A file of the test's own in a claim that the example's pods can mount."""
    with volumes.checkpoint(cluster, lab) as file:
        yield file


@pytest.mark.example("04-elastic")
def test_a_scaled_group_goes_on_from_its_checkpoint(
    lab: Namespace, checkpoint: str, record_property: Callable[[str, object], None]
) -> None:
    job = lessons.example("04-elastic", CHECKPOINT=f"/checkpoints/{checkpoint}")
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
    record_property("checked", f"went on at epoch {begin[1]} as 2, accuracy {accuracy[1]}")


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
