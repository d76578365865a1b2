"""A job goes on without what the roll call makes for it, and is never given another's."""

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from builders import REPORTING, a_job, heard
from cluster.raw import container, terminated
from test_reconcile import PODS, SERVICE, Lab
from trainingjobs.cluster.callers import Callers, UnknownPodError
from trainingjobs.cluster.errors import ApiError
from trainingjobs.cluster.notifier import Notifier
from trainingjobs.cluster.rolls import Rolls
from trainingjobs.model import names
from trainingjobs.model.roll import Entry, Roll
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


class Heard:
    """The processes of the first attempt: rank 1 keeps the others waiting."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.hangs = False

    def of(self, _: str, attempt: int) -> Roll:
        """What they have said."""
        if not self.hangs or attempt != 1:
            return Roll()
        return Roll(entries=tuple(self._stands(rank) for rank in range(3)))

    def forget(self, _: str) -> None:
        """The job is gone."""

    def _stands(self, rank: int) -> Entry:
        waits = {} if rank == 1 else {"waits_in": "backward"}
        stands: dict[str, Any] = {"world_size": 3, "steps": 20, "quiet_seconds": 400.0, **waits}
        said = heard(rank, received=self.lab.seconds, **stands)
        pod = self.lab.api.objects[f"{PODS}/{names.pod('mnist', rank)}"]
        return replace(said, pod_uid=pod["metadata"]["uid"])


class Calling(Lab):
    """A lab whose operator calls the roll."""

    site = REPORTING

    def start(self) -> None:
        """Start it with ears."""
        self.rolls = Heard(self)
        super().start()

    async def hang(self) -> None:
        """All run for a while, and then stand still."""
        await self.settle()
        self.run_all()
        await self.settle()
        self.rolls.hangs = True
        self.seconds += 400

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


STACKS = f"{FILES}/mnist-stacks-1"


async def test_the_stacks_are_kept_before_the_status_is_written_and_the_pods_go() -> None:
    lab = Calling(onStall="Restart")
    await lab.hang()
    await lab.look()
    methods = [(method, path.rpartition("/")[2]) for method, path in lab.api.writes]
    kept, written = methods.index(("POST", "configmaps")), methods.index(("PATCH", "status"))
    assert kept < written < methods.index(("DELETE", "mnist-master"))
    assert "backward" in lab.api.objects[STACKS]["data"]["stacks.txt"]
    assert (lab.status["attempt"], lab.status["restarts"]) == (2, 1)
    assert lab.status["failure"]["pod"] == "mnist-worker-0"


@pytest.mark.parametrize("refusal", REFUSALS)
async def test_stacks_that_cannot_be_kept_hold_no_restart_up(refusal: ApiError) -> None:
    lab = Calling(onStall="Restart")
    await lab.hang()
    lab.api.refuse = lambda method, path: refusal if (method, path) == ("POST", FILES) else None
    await lab.look()
    assert STACKS not in lab.api.objects
    assert "StacksNotKept" in lab.events
    assert lab.status["attempt"] == 2
    assert lab.pods == []


async def test_somebody_elses_object_of_that_name_holds_no_restart_up() -> None:
    lab = Calling(onStall="Restart")
    await lab.hang()
    before = lab.api.add(STACKS, {"metadata": {"name": "mnist-stacks-1", "namespace": "lab"}})
    await lab.look()
    assert lab.api.objects[STACKS] == before
    assert lab.status["attempt"] == 2


async def test_an_operator_that_died_after_keeping_them_restarts_once() -> None:
    """The second finds them there, and counts the one restart."""
    lab = Calling(onStall="Restart")
    await lab.hang()
    lost = ApiError(500, "InternalError", "the write is lost")
    lab.api.refuse = lambda _, path: lost if path.endswith("/status") else None
    with pytest.raises(ApiError):
        await lab.look()
    assert STACKS in lab.api.objects
    assert lab.status["attempt"] == 1
    lab.api.refuse = lambda _method, _path: None
    await lab.look()
    assert (lab.status["attempt"], lab.status["restarts"]) == (2, 1)


class Telling(Calling):
    """A lab whose operator tells people."""

    def start(self) -> None:
        """Start it with a mouth."""
        self.said: list[Any] = []
        api: Any = SimpleNamespace(request=self._secret)
        self.notifier = Notifier(
            api=api,
            webhook=self,
            recorder=self,
            wake=lambda _: None,
            leads=lambda: True,
            clock=self.now,
        )
        super().start()

    async def send(self, url: str, body: dict[str, Any]) -> None:
        """A message."""
        self.said.append((url, body))

    async def post(self, *_: Any) -> None:
        """It was given up."""
        raise AssertionError("nobody was told")

    async def _secret(self, *_: str) -> Any:
        return {"data": {"url": "aHR0cHM6Ly94"}}


@pytest.mark.parametrize("then", ["Restart", "Report"])
async def test_people_are_told_once_of_a_stall_whatever_it_leads_to(then: str) -> None:
    asked = {"secretName": "hook", "when": ["Stalled"], "format": "JSON"}
    lab = Telling(onStall=then, notify=asked)
    await lab.hang()
    for _ in range(5):
        await lab.settle()
        await asyncio.sleep(0)
        lab.seconds += 10
    assert lab.status["attempt"] == (2 if then == "Restart" else 1)
    ((url, body),) = lab.said
    assert (url, body["event"], body["attempt"]) == ("https://x", "Stalled", 1)
    assert "rank 1" in body["message"]
    assert lab.status["notified"] == ["Stalled-1"]


async def test_a_job_that_only_reports_keeps_nothing_and_restarts_nothing() -> None:
    lab = Calling()
    await lab.hang()
    await lab.settle()
    assert STACKS not in lab.api.objects
    assert lab.status["attempt"] == 1
    assert "Stalled" in lab.events


class Listening(Lab):
    """A lab whose operator hears reports."""

    site = REPORTING

    def start(self) -> None:
        """Start it with ears."""
        self.rolls = Rolls(self.now)
        super().start()

    def report(self, rank: int) -> None:
        """One rank says that it steps."""
        pod = self.api.objects[f"{PODS}/{names.pod('mnist', rank)}"]
        caller = Callers(self.store, self.clock).find(pod["metadata"]["uid"])
        self.rolls.take(caller, heard(rank, world_size=3, steps=20).report, 500)


async def test_nothing_is_remembered_of_the_reports_of_a_job_that_is_over() -> None:
    """Finished jobs stay for weeks; what has been said of them stands in their status."""
    lab = Listening()
    await lab.settle()
    lab.run_all()
    for rank in range(3):
        lab.report(rank)
    await lab.settle()
    assert (lab.rolls.jobs, lab.rolls.heard) == (1, 3)
    said = lab.status["training"]
    for name in lab.pods:
        ended = [container(terminated=terminated(0))]
        lab.change_pod(name, phase="Succeeded", containerStatuses=ended)
    await lab.settle()
    assert lab.status["phase"] == "Succeeded"
    over = lab.status
    await lab.look()
    assert (lab.rolls.jobs, lab.rolls.heard, lab.rolls.weight) == (0, 0, 0)
    assert lab.api.writes == []
    assert (lab.status, lab.status["training"]["step"]) == (over, said["step"])
    with pytest.raises(UnknownPodError):
        lab.report(0)
