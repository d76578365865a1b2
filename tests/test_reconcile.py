"""The story of one job, with everything real but the API server and the time."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from builders import NOW, SITE, UID, a_body
from cluster.fakeapi import FakeApi
from cluster.raw import Raw, container, terminated
from trainingjobs.cluster.apply import Applier
from trainingjobs.cluster.backoff import Backoff
from trainingjobs.cluster.errors import ApiError
from trainingjobs.cluster.events import Recorder
from trainingjobs.cluster.observe import Sweep
from trainingjobs.cluster.pace import Pace
from trainingjobs.cluster.refusals import Refusals
from trainingjobs.cluster.status import Writer
from trainingjobs.cluster.store import Store
from trainingjobs.model.site import Site
from trainingjobs.reconcile import Hands, Reconciler

KEY = ("lab", "mnist")
JOB = "/apis/trainingjob.dev/v1/namespaces/lab/trainingjobs/mnist"
PODS = "/api/v1/namespaces/lab/pods"
SERVICE = "/api/v1/namespaces/lab/services/mnist"


class Lab:
    """One namespace with one job, an operator, and a time that the test moves."""

    site: Site = SITE
    rolls: Any = None
    notifier: Any = None

    def __init__(self, **spec: Any) -> None:
        self.seconds = 0.0
        self.api = FakeApi()
        self.store = Store(self.now)
        self.start()
        self.store.put_job(self.api.add(JOB, a_body(**spec)))

    def start(self) -> None:
        """Start the operator, with an empty memory but for the job."""
        jobs = list(self.store.jobs())
        self.store = Store(self.now)
        for job in jobs:
            self.store.put_job(job)
        api: Any = self.api
        hands = Hands(
            store=self.store,
            applier=Applier(api, self.store, 4),
            writer=Writer(api, self.store),
            recorder=Recorder(api, self.now, "operator-0"),
            clock=self.now,
            refusals=Refusals(Backoff(chance=lambda: 0.0), self.clock),
            pace=Pace(self.clock),
            rolls=self.rolls,
            notifier=self.notifier,
        )
        self.reconciler = Reconciler(hands, self.site)

    def now(self) -> datetime:
        """The time of day."""
        return NOW + timedelta(seconds=self.seconds)

    def clock(self) -> float:
        """The time as a number."""
        return self.seconds

    async def look(self) -> float | None:
        """One reconcile; in how many seconds the next one is wanted."""
        self.api.calls.clear()
        when = await self.reconciler.reconcile(KEY)
        return None if when is None else (when - self.now()).total_seconds()

    async def settle(self) -> None:
        """Reconcile as long as the next one is wanted at once."""
        for _ in range(10):
            if await self.look() != 0.0:
                return
        raise AssertionError("it does not come to rest")

    def change_pod(self, name: str, **status: Any) -> None:
        """The kubelet tells of a pod, and the watch tells of that."""
        pod = self.api.objects[f"{PODS}/{name}"]
        pod["status"] = status
        pod["spec"]["nodeName"] = "node-a"
        self.store.put(self.api.add(f"{PODS}/{name}", pod))

    def run_all(self) -> None:
        """All pods run."""
        for name in self.pods:
            self.change_pod(name, phase="Running", containerStatuses=[container(running={})])

    @property
    def pods(self) -> list[str]:
        """The names of all pods."""
        return sorted(at.rpartition("/")[2] for at in self.api.objects if at.startswith(PODS))

    @property
    def status(self) -> Raw:
        """The status that everybody can read."""
        found: Raw = self.api.objects[JOB].get("status") or {}
        return found

    @property
    def events(self) -> list[str]:
        """The reasons of all events."""
        return [it["reason"] for at, it in self.api.objects.items() if "/events/" in at]

    def change_spec(self, **spec: Any) -> None:
        """The user changes the job."""
        body = self.api.objects[JOB]
        body["spec"] |= spec
        body["metadata"]["generation"] += 1
        self.store.put_job(self.api.add(JOB, body))


@pytest.fixture
def lab() -> Lab:
    return Lab()


async def test_a_new_job_gets_its_service_and_pods_and_one_status(lab: Lab) -> None:
    await lab.look()
    assert lab.pods == ["mnist-master", "mnist-worker-0", "mnist-worker-1"]
    assert SERVICE in lab.api.objects
    assert lab.status["phase"] == "Pending"
    assert lab.status["ready"] == "0/3"
    assert [path for method, path in lab.api.writes if method == "PATCH"] == [f"{JOB}/status"]


async def test_a_large_group_says_that_its_pods_are_on_their_way() -> None:
    lab = Lab(instances=150)
    said: list[Any] = []

    def listen(method: str, path: str) -> None:
        if (method, path) == ("POST", PODS) and not lab.pods:
            said.append((lab.status["phase"], lab.status["ready"]))

    lab.api.refuse = listen
    await lab.look()
    assert said[0] == ("Pending", "0/150")
    assert len(lab.pods) == 150, "and they come in the same look: nobody rests after a first word"


async def test_a_job_that_is_suspended_meanwhile_gets_no_more_pods() -> None:
    lab = Lab(instances=50)
    lab.api.refuse = lambda *_: lab.change_spec(suspend=True) if len(lab.pods) == 10 else None
    assert await lab.look() == 0.0
    assert len(lab.pods) < 20
    lab.api.refuse = lambda *_: None
    await lab.settle()
    assert not lab.pods
    assert lab.status["phase"] == "Suspended"


async def test_looking_again_does_nothing(lab: Lab) -> None:
    await lab.settle()
    await lab.look()
    assert not lab.api.calls


async def test_an_operator_that_starts_anew_makes_nothing_twice(lab: Lab) -> None:
    await lab.settle()
    lab.start()
    api: Any = lab.api
    await Sweep(api=api, store=lab.store, wake=lambda _: None, namespaces=("lab",)).once()
    await lab.look()
    assert not lab.api.calls


async def test_an_operator_that_sees_too_little_makes_nothing_twice(lab: Lab) -> None:
    lab.api.refuse = lambda method, _: (
        ApiError(500, "InternalError", "killed here") if method == "PATCH" else None
    )
    with pytest.raises(ApiError):
        await lab.look()
    before = {at: it["metadata"]["uid"] for at, it in lab.api.objects.items()}
    lab.api.refuse = lambda *_: None
    lab.start()
    await lab.settle()
    assert len(lab.pods) == 3
    assert before == {
        at: it["metadata"]["uid"] for at, it in lab.api.objects.items() if at in before
    }


async def test_a_job_to_its_end(lab: Lab) -> None:
    await lab.settle()
    lab.run_all()
    await lab.settle()
    assert lab.status["phase"] == "Running"
    for name in lab.pods:
        ended = [container(terminated=terminated(0))]
        lab.change_pod(name, phase="Succeeded", containerStatuses=ended)
    await lab.settle()
    assert lab.status["phase"] == "Succeeded"
    assert len(lab.pods) == 3
    assert await lab.look() is None
    assert {"PodsCreated", "Running", "Succeeded"} <= set(lab.events)


async def test_counts_wait_for_each_other(lab: Lab) -> None:
    await lab.settle()
    running = [container(running={})]
    told = []
    for name in ("mnist-master", "mnist-worker-0"):
        lab.change_pod(name, phase="Running", containerStatuses=running)
        wait = await lab.look()
        told.append(lab.status["ready"])
        assert wait is not None
        assert 0 < wait <= 2
    lab.seconds += 2
    await lab.look()
    assert (told, lab.status["ready"]) == (["0/3", "0/3"], "2/3")


async def test_a_failed_rank_restarts_the_group(lab: Lab) -> None:
    await lab.settle()
    lab.run_all()
    await lab.settle()
    ended = [container(terminated=terminated(1, "Error", "boom"))]
    lab.change_pod("mnist-worker-0", phase="Failed", containerStatuses=ended)
    for _ in range(5):
        lab.seconds += max(await lab.look() or 0.0, 0.1)
    assert lab.status["attempt"] == 2
    assert lab.status["restarts"] == 1
    attempts = {
        it["metadata"]["labels"]["trainingjob.dev/attempt"]
        for at, it in lab.api.objects.items()
        if at.startswith(PODS)
    }
    assert attempts == {"2"}


QUOTA = ApiError(403, "Forbidden", "exceeded quota: gpus")


async def test_a_service_that_somebody_edits_is_set_right(lab: Lab) -> None:
    await lab.settle()
    theirs = {**lab.api.objects[SERVICE], "kind": "Service", "spec": {"ports": [{"port": 80}]}}
    lab.store.put(lab.api.add(SERVICE, theirs))
    await lab.look()
    assert lab.api.writes == [("PATCH", SERVICE)]
    assert [item["port"] for item in lab.api.objects[SERVICE]["spec"]["ports"]] == [29500]
    await lab.look()
    assert lab.api.writes == []


async def test_a_service_that_may_not_be_changed_is_said_and_left(lab: Lab) -> None:
    """Where an operator has the roles of an earlier chart."""
    await lab.settle()
    lab.run_all()
    lab.store.put(lab.api.add(SERVICE, {**lab.api.objects[SERVICE], "spec": {}}))
    words = 'services "mnist" is forbidden: cannot patch'
    lab.api.refuse = lambda method, path: (
        ApiError(403, "Forbidden", words) if (method, path) == ("PATCH", SERVICE) else None
    )
    await lab.settle()
    assert lab.status["phase"] == "Running"
    assert lab.status["message"].endswith(f"mnist was refused: {words}")
    await lab.look()
    assert lab.api.writes == []
    assert len(lab.pods) == 3


def refuse_pods(lab: Lab, error: ApiError, allowed: int) -> None:
    """The API server takes so many pods and no more."""
    lab.api.refuse = lambda method, path: (
        error if (method, path) == ("POST", PODS) and len(lab.pods) >= allowed else None
    )


async def test_a_refused_create_is_said_and_not_repeated_at_once(lab: Lab) -> None:
    refuse_pods(lab, QUOTA, allowed=0)
    wait = await lab.look()
    assert wait == 1.0
    assert "quota" in lab.status["message"]
    await lab.look()
    assert not lab.api.writes
    lab.seconds += 1.0
    assert await lab.look() == 2.0
    assert lab.api.writes == [("POST", PODS)]


async def test_a_standing_quota_is_quiet(lab: Lab) -> None:
    refuse_pods(lab, QUOTA, allowed=0)
    await lab.look()
    before, told = lab.status, len(lab.events)
    for _ in range(8):
        lab.seconds += await lab.look() or 0.0
        await lab.look()
        assert lab.api.writes in ([], [("POST", PODS)])
    assert lab.status == before
    assert len(lab.events) == told


async def test_words_wait_for_each_other_and_the_last_is_written(lab: Lab) -> None:
    refuse_pods(lab, QUOTA, allowed=0)
    await lab.look()
    refuse_pods(lab, ApiError(403, "Forbidden", "exceeded quota: gpus, used: 7"), allowed=0)
    lab.seconds += 1.0
    wait = await lab.look()
    assert "used: 7" not in lab.status["message"]
    assert wait is not None
    assert 0 < wait <= 2
    lab.seconds += 1.0
    await lab.look()
    assert "used: 7" in lab.status["message"]


async def test_a_refused_create_is_forgotten_when_it_goes_through(lab: Lab) -> None:
    refuse_pods(lab, QUOTA, allowed=0)
    await lab.look()
    lab.api.refuse = lambda *_: None
    lab.seconds += 1.0
    await lab.settle()
    assert len(lab.pods) == 3
    assert lab.status["message"] == ""


async def test_a_changed_spec_is_tried_at_once(lab: Lab) -> None:
    refuse_pods(lab, QUOTA, allowed=0)
    await lab.look()
    lab.change_spec(maxRestarts=1)
    await lab.look()
    assert ("POST", PODS) in lab.api.writes


async def test_a_refused_job_that_is_suspended_comes_to_rest(lab: Lab) -> None:
    refuse_pods(lab, QUOTA, allowed=0)
    await lab.look()
    lab.change_spec(suspend=True)
    lab.seconds += 5.0
    await lab.settle()
    assert lab.status["phase"] == "Suspended"
    assert await lab.look() is None


async def test_an_invalid_template_fails_the_job_and_makes_nothing(lab: Lab) -> None:
    lab.api.refuse = lambda method, path: (
        ApiError(422, "Invalid", "image: Required value")
        if (method, path) == ("POST", PODS)
        else None
    )
    await lab.settle()
    assert lab.status["phase"] == "Failed"
    assert "image: Required value" in lab.status["message"]
    assert not lab.pods
    assert SERVICE not in lab.api.objects
    assert await lab.look() is None


async def test_a_name_that_is_taken_is_said_until_it_is_free(lab: Lab) -> None:
    lab.api.add(
        f"{PODS}/mnist-worker-0", {"metadata": {"name": "mnist-worker-0", "namespace": "lab"}}
    )
    await lab.look()
    assert "mnist-worker-0" in lab.status["message"]
    del lab.api.objects[f"{PODS}/mnist-worker-0"]
    lab.seconds += 1.0
    await lab.settle()
    assert len(lab.pods) == 3
    assert lab.status["message"] == ""


async def test_a_conflict_is_decided_anew_before_anything_is_deleted(lab: Lab) -> None:
    await lab.settle()
    lab.run_all()
    await lab.settle()
    body = lab.api.objects[JOB]
    body["spec"]["suspend"] = True
    lab.api.add(JOB, body)
    lab.change_spec(suspend=True)
    lab.api.add(JOB, lab.api.objects[JOB])
    assert await lab.look() == 0.0
    assert not [path for method, path in lab.api.calls if method == "DELETE"]
    await lab.settle()
    assert not lab.pods


async def test_a_job_of_another_controller_is_left_alone() -> None:
    lab = Lab(managedBy="kueue.x-k8s.io/multikueue")
    assert await lab.look() is None
    assert not lab.api.calls


async def test_a_spec_that_cannot_be_read_is_said_once(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.change_spec(framework="Fortran")
    assert await lab.look() is None
    assert await lab.look() is None
    assert caplog.text.count("cannot be read") == 1
    assert lab.events == ["InvalidSpec"]
    lab.change_spec(framework="PyTorch")
    await lab.look()
    assert len(lab.pods) == 3


async def test_a_job_that_is_gone_is_forgotten(lab: Lab) -> None:
    await lab.settle()
    lab.store.drop_job(lab.api.objects.pop(JOB))
    assert await lab.look() is None
    assert not lab.api.calls
    assert lab.store.pods_of(UID) == ()


async def test_a_finished_job_is_deleted_when_its_time_is_over() -> None:
    lab = Lab(instances=1, ttlSecondsAfterFinished=60)
    await lab.settle()
    ended = [container(terminated=terminated(0))]
    lab.change_pod("mnist-master", phase="Succeeded", containerStatuses=ended)
    await lab.settle()
    assert await lab.look() == 60.0
    lab.seconds += 60.0
    await lab.look()
    assert JOB not in lab.api.objects
