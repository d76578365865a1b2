"""A job goes on without what the roll call makes for it, and is never given another's."""

import pytest

from builders import REPORTING, a_job
from test_reconcile import PODS, SERVICE, Lab
from trainingjobs.cluster.errors import ApiError
from trainingjobs.plan import manifests

FILES = "/api/v1/namespaces/lab/configmaps"
OURS = manifests.reporter(a_job(), REPORTING)
NAME = OURS["metadata"]["name"]
THEIRS = {"metadata": {"name": NAME, "namespace": "lab"}, "data": {}}

REFUSALS = [
    pytest.param(ApiError(403, "Forbidden", "configmaps is forbidden"), id="permission"),
    pytest.param(ApiError(403, "Forbidden", "exceeded quota: count/configmaps"), id="quota"),
    pytest.param(ApiError(422, "Invalid", "too long"), id="invalid"),
    pytest.param(ApiError(500, "InternalError", "failed calling webhook"), id="webhook"),
    pytest.param(ApiError(0, "Unreachable", "no answer"), id="no answer"),
]


class Calling(Lab):
    """A lab whose operator calls the roll."""

    site = REPORTING

    def made(self) -> list[str]:
        """Where the last look made something, in its order; dry runs do not count."""
        return [
            path for method, path in self.api.writes if method == "POST" and "events" not in path
        ]


async def test_the_files_are_there_before_the_pods() -> None:
    lab = Calling()
    await lab.look()
    dry, files, service, *pods = lab.made()
    assert (files, service) == (FILES, SERVICE.rpartition("/")[0])
    assert {dry, *pods} == {PODS}
    assert f"{FILES}/{NAME}" in lab.api.objects
    await lab.settle()
    await lab.look()
    assert lab.api.calls == []


@pytest.mark.parametrize("refusal", REFUSALS)
async def test_a_refusal_of_the_files_is_told_and_stops_nothing(refusal: ApiError) -> None:
    lab = Calling()
    lab.api.refuse = lambda method, path: refusal if (method, path) == ("POST", FILES) else None
    await lab.settle()
    assert len(lab.pods) == 3
    assert lab.status["phase"] == "Pending"
    assert "RollCallOff" in lab.events
    assert refusal.message in str(lab.api.objects)


async def test_a_blink_of_the_api_server_does_not_cost_the_roll_call() -> None:
    lab, refusals = Calling(), [ApiError(500, "InternalError", "once")]
    lab.api.refuse = lambda _, path: refusals.pop() if refusals and path == FILES else None
    await lab.settle()
    assert f"{FILES}/{NAME}" in lab.api.objects
    assert "RollCallOff" not in lab.events


async def test_our_own_files_of_an_earlier_attempt_serve_again() -> None:
    lab = Calling()
    lab.api.add(f"{FILES}/{NAME}", OURS)
    await lab.settle()
    assert len(lab.pods) == 3
    assert "RollCallOff" not in lab.events


async def test_somebody_elses_files_are_never_given_to_a_pod() -> None:
    lab = Calling()
    before = lab.api.add(f"{FILES}/{NAME}", THEIRS)
    await lab.settle()
    assert lab.pods == []
    assert lab.status["message"].startswith(f"ConfigMap {NAME} exists and does not belong")
    assert lab.api.objects[f"{FILES}/{NAME}"] == before
    del lab.api.objects[f"{FILES}/{NAME}"]
    lab.seconds += 60
    await lab.settle()
    assert len(lab.pods) == 3
