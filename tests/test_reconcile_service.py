"""A service or a pod group that cannot be changed: it is said, and no job fails of it."""

from typing import Any

import pytest

from builders import TEMPLATE, service_spec
from cluster.fakeapi import merged
from test_reconcile import SERVICE, Lab
from test_reconcile_gang import GROUP, serve, sweep
from trainingjobs.cluster.errors import ApiError

IMMUTABLE = ApiError(422, "Invalid", "spec.clusterIPs[0]: may not change once set")
VOLCANO = {"spec": {**TEMPLATE["spec"], "schedulerName": "volcano"}}
OWN_ADDRESS = {"clusterIP": "10.0.0.7"}


async def running(**spec: Any) -> Lab:
    lab = Lab(**spec)
    serve(lab.api)
    await sweep(lab)
    await lab.settle()
    lab.run_all()
    await lab.settle()
    return lab


def edit(lab: Lab, path: str, change: Any) -> None:
    """Somebody edits what is there, and the watch or a list tells of it."""
    before = lab.api.objects[path]
    kind = "Service" if path == SERVICE else "PodGroup"
    api = "v1" if path == SERVICE else "scheduling.volcano.sh/v1beta1"
    after = {**merged(before, {"spec": change}), "apiVersion": api, "kind": kind}
    lab.store.put(lab.api.add(path, after))


THINGS = pytest.mark.parametrize(
    ("path", "change", "spec"),
    [
        pytest.param(SERVICE, OWN_ADDRESS, {}, id="service"),
        pytest.param(GROUP, {"minMember": 7}, {"template": VOLCANO}, id="pod group"),
    ],
)


@THINGS
async def test_a_job_that_runs_goes_on_beside_what_cannot_be_changed(
    path: str, change: Any, spec: Any
) -> None:
    lab = await running(**spec)
    edit(lab, path, change)
    lab.api.refuse = lambda method, at: IMMUTABLE if (method, at) == ("PATCH", path) else None
    waits: list[float] = []
    while len(waits) < 9:
        wait = await lab.look()
        assert wait is not None
        waits += [wait] if ("PATCH", path) in lab.api.writes else []
        lab.seconds += wait
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert (lab.status["phase"], len(lab.pods)) == ("Running", 3)
    assert lab.status["message"] == (
        "mnist is not as the job needs it and cannot be changed, trying again (delete it to have "
        "it made anew): spec.clusterIPs[0]: may not change once set"
    )
    (runs,) = (it for it in lab.status["conditions"] if it["type"] == "Running")
    assert (runs["status"], runs["reason"]) == ("True", "ChangeRefused")
    lab.api.refuse = lambda *_: None
    lab.seconds += 60
    await lab.settle()
    assert (lab.status["phase"], lab.status["message"]) == ("Running", "")
    await lab.look()
    assert lab.api.writes == []


@THINGS
async def test_a_group_that_starts_again_waits_for_what_cannot_be_changed(
    path: str, change: Any, spec: Any
) -> None:
    """Pods that cannot find each other, or that nobody places, would only fail one by one."""
    lab = await running(**spec)
    edit(lab, path, change)
    lab.api.refuse = lambda method, at: IMMUTABLE if (method, at) == ("PATCH", path) else None
    lab.change_pod("mnist-worker-0", phase="Failed", reason="Evicted")
    await lab.settle()
    lab.seconds += 60
    await lab.settle()
    assert (lab.status["phase"], lab.status["attempt"], lab.pods) == ("Restarting", 2, [])
    assert "cannot be changed" in lab.status["message"]
    lab.api.refuse = lambda *_: None
    lab.seconds += 60
    await lab.settle()
    assert (lab.status["phase"], lab.status["message"], len(lab.pods)) == ("Pending", "", 3)


async def test_whoever_changes_a_service_back_is_not_fought_without_end() -> None:
    """A webhook, say: the API server takes the change, and what is there is as it was."""
    lab = await running()
    edit(lab, SERVICE, {"publishNotReadyAddresses": False})
    lab.api.admit = lambda changed: merged(changed, {"spec": {"publishNotReadyAddresses": None}})
    tries = 0
    while lab.seconds < 600:
        wait = await lab.look()
        tries += ("PATCH", SERVICE) in lab.api.writes
        assert wait is not None
        lab.seconds += wait
    assert tries <= 16
    assert lab.status["phase"] == "Running"
    assert lab.status["message"].endswith("somebody changes it back at once")


async def test_a_service_is_made_whole_in_one_change() -> None:
    lab = await running()
    edit(lab, SERVICE, {"selector": {"app": "x"}, "publishNotReadyAddresses": None, "ports": []})
    await lab.look()
    assert lab.api.writes == [("PATCH", SERVICE)]
    assert lab.api.objects[SERVICE]["spec"] == service_spec()
    await lab.look()
    assert lab.api.writes == []
