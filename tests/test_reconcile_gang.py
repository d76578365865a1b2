"""The story of a job that a gang scheduler places, from the first pod group to the last."""

from typing import Any

import pytest

from builders import TEMPLATE
from cluster.fakeapi import FakeApi
from test_reconcile import Lab
from trainingjobs.cluster import paths
from trainingjobs.cluster.observe import Sweep
from trainingjobs.model.gang import Gang

VOLCANO = {"spec": {**TEMPLATE["spec"], "schedulerName": "volcano"}}
GROUPS = paths.pod_groups(Gang.VOLCANO, "lab")
GROUP = f"{GROUPS}/mnist"


async def sweep(lab: Lab) -> None:
    api: Any = lab.api
    await Sweep(api=api, store=lab.store, wake=lambda _: None, namespaces=("lab",)).once()


@pytest.fixture
def lab() -> Lab:
    return Lab(template=VOLCANO)


def serve(api: FakeApi) -> None:
    """Volcano is installed."""
    api.serves = {paths.api(Gang.VOLCANO)}


async def test_without_volcano_the_job_says_so_and_rests(lab: Lab) -> None:
    assert await lab.look() is None
    assert "scheduling.volcano.sh/v1beta1" in lab.status["message"]
    assert (await lab.look(), lab.api.writes) == (None, [])
    serve(lab.api)
    await sweep(lab)
    await lab.settle()
    assert (len(lab.pods), lab.status["message"]) == (3, "")


async def test_a_group_lives_as_long_as_the_job_runs(lab: Lab) -> None:
    serve(lab.api)
    await sweep(lab)
    await lab.settle()
    uid = lab.api.objects[GROUP]["metadata"]["uid"]
    lab.run_all()
    lab.change_pod("mnist-worker-0", phase="Failed", reason="Evicted")
    await lab.settle()
    await lab.settle()
    assert (lab.status["attempt"], len(lab.pods)) == (2, 3)
    assert lab.api.objects[GROUP]["metadata"]["uid"] == uid
    lab.change_spec(suspend=True)
    await lab.settle()
    assert GROUP not in lab.api.objects
    lab.change_spec(suspend=False, PARALLEL_INSTANCES=2)
    await lab.settle()
    assert lab.api.objects[GROUP]["spec"]["minMember"] == 2


async def test_a_new_size_is_told_to_the_scheduler(lab: Lab) -> None:
    serve(lab.api)
    await sweep(lab)
    await lab.settle()
    lab.change_spec(elastic={"minInstances": 2, "maxInstances": 3})
    await lab.settle()
    assert lab.api.objects[GROUP]["spec"]["minMember"] == 2


async def test_an_operator_that_starts_anew_makes_no_second_group(lab: Lab) -> None:
    serve(lab.api)
    await sweep(lab)
    await lab.settle()
    lab.start()
    await sweep(lab)
    await lab.look()
    assert lab.api.writes == []
