"""Carrying out a decision: in order, repeatable, and stopped by the first refusal."""

import asyncio
from typing import Any

import pytest

from builders import NOW, SITE, UID, a_body, a_job, service_spec
from cluster.fakeapi import FakeApi
from cluster.raw import Raw, owner, raw_pod, raw_service
from trainingjobs.cluster.apply import Applier
from trainingjobs.cluster.errors import ApiError
from trainingjobs.cluster.store import Store
from trainingjobs.model.observed import Trouble
from trainingjobs.plan import manifests
from trainingjobs.plan.decision import PodRef

PODS = "/api/v1/namespaces/lab/pods"
SERVICES = "/api/v1/namespaces/lab/services"
JOB = "/apis/trainingjob.dev/v1/namespaces/lab/trainingjobs/mnist"


class Place:
    """An executor in front of a fake server."""

    def __init__(self, parallel: int = 4) -> None:
        self.api = FakeApi()
        self.store = Store(lambda: NOW)
        self.store.put_job(a_body())
        self.applier = Applier(self.api, self.store, parallel)  # type: ignore[arg-type]
        self.job = a_job()


@pytest.fixture
def place() -> Place:
    return Place()


def wanted(rank: int) -> Raw:
    """A pod to be created: without what only a server knows."""
    raw = raw_pod(rank)
    for field in ("uid", "resourceVersion"):
        del raw["metadata"][field]
    return raw


def service() -> Raw:
    """A service to be created."""
    raw = raw_service()
    for field in ("uid", "resourceVersion"):
        del raw["metadata"][field]
    return raw


async def test_the_service_is_made_before_the_pods_and_all_are_known(place: Place) -> None:
    problems = await place.applier.create(place.job, [wanted(0), wanted(1), service()])
    assert problems == ()
    assert [path for _, path in place.api.calls] == [SERVICES, PODS, PODS]
    assert [pod.rank for pod in place.store.pods_of(UID)] == [0, 1]
    assert place.store.service_of(UID)


async def test_a_service_gets_its_port_and_is_known_with_it(place: Place) -> None:
    place.store.put(place.api.add(f"{SERVICES}/mnist", raw_service(port=80)))
    ports = service_spec()["ports"]
    metadata = {"name": "mnist", "namespace": "lab", "uid": "service-1"}
    patch = {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": ports}}
    assert await place.applier.change(place.job, [patch]) == ()
    assert place.api.writes == [("PATCH", f"{SERVICES}/mnist")]
    assert place.api.objects[f"{SERVICES}/mnist"]["spec"] == service_spec()
    found = place.store.service_of(UID)
    assert found is not None
    assert found.spec == service_spec()


SECRETS = "/api/v1/namespaces/lab/secrets"


async def test_a_key_that_is_there_is_the_jobs_and_is_never_read(place: Place) -> None:
    """Its name has the job's uid; the operator may make Secrets, and read none."""
    key = manifests.launching(a_job(framework="MPI"), SITE)[1]
    for _ in range(2):
        assert await place.applier.create(place.job, [key]) == ()
    assert place.api.calls == [("POST", SECRETS), ("POST", SECRETS)]


async def test_a_key_that_is_refused_means_no_pods(place: Place) -> None:
    key = manifests.launching(a_job(framework="MPI"), SITE)[1]
    place.api.refuse = lambda *_: ApiError(403, "Forbidden", "no")
    (problem,) = await place.applier.create(place.job, [key, wanted(0)])
    assert problem.trouble is Trouble.FORBIDDEN
    assert [path for _, path in place.api.calls] == [SECRETS]


async def test_a_refused_service_means_no_pods(place: Place) -> None:
    place.api.refuse = lambda *_: ApiError(403, "Forbidden", "no")
    (problem,) = await place.applier.create(place.job, [service(), wanted(0)])
    assert problem.trouble is Trouble.FORBIDDEN
    assert len(place.api.calls) == 1


async def test_the_first_refusal_ends_the_creates() -> None:
    place = Place(parallel=2)
    over = ApiError(403, "Forbidden", "exceeded quota: gpus")
    place.api.refuse = lambda *_: over if len(place.api.calls) > 3 else None
    problems = await place.applier.create(place.job, [wanted(rank) for rank in range(50)])
    assert {problem.trouble for problem in problems} == {Trouble.QUOTA}
    assert len(place.api.calls) <= 5
    assert len(place.store.pods_of(UID)) == 3


async def test_of_refusals_in_flight_the_lowest_rank_is_the_one_that_is_told() -> None:
    place = Place(parallel=4)
    over = ApiError(403, "Forbidden", "exceeded quota: gpus")
    first_answers = iter([3, 1, 0, 2])

    async def late(*_: str, **__: Any) -> Raw:
        turn = next(first_answers)
        await asyncio.sleep(0.01 * turn)
        raise over

    place.api.request = late  # type: ignore[method-assign]
    problems = await place.applier.create(place.job, [wanted(rank) for rank in range(50)])
    assert [problem.name for problem in problems] == [f"mnist-{rank}" for rank in range(4)]


async def test_after_a_refusal_one_create_tells_whether_the_others_may_follow(place: Place) -> None:
    manifests = [service(), *[wanted(rank) for rank in range(50)]]
    over = ApiError(403, "Forbidden", "exceeded quota: gpus")
    place.api.refuse = lambda _, path: over if path == PODS else None
    (problem,) = await place.applier.create(place.job, manifests, carefully=True)
    assert problem.name == "mnist-0"
    assert place.api.calls == [("POST", SERVICES), ("POST", PODS)]
    place.api.refuse = lambda *_: None
    assert await place.applier.create(place.job, manifests[1:], carefully=True) == ()
    assert len(place.store.pods_of(UID)) == 50


def changed(**metadata: Any) -> Raw:
    """The job, as somebody has changed it."""
    body = a_body()
    body["metadata"] |= {"resourceVersion": "11", **metadata}
    return body


@pytest.mark.parametrize(
    ("body", "made"),
    [
        (changed(annotations={"a.test/b": "c"}), 20),
        (changed(generation=2), 3),
        (changed(deletionTimestamp="2026-03-01T12:00:00Z"), 3),
        (None, 3),
        (changed(uid="another"), 3),
    ],
    ids=["is only annotated", "is changed", "is being deleted", "is gone", "is another"],
)
async def test_a_job_gets_no_more_pods_once_it(body: Raw | None, made: int) -> None:
    place = Place(parallel=1)

    def refuse(*_: str) -> None:
        if len(place.api.calls) == 3:
            if body is None or body["metadata"]["uid"] != UID:
                place.store.drop_job(changed())
            if body is not None:
                place.store.put_job(body)

    place.api.refuse = refuse
    assert await place.applier.create(place.job, [wanted(rank) for rank in range(20)]) == ()
    assert len(place.api.writes) == made


async def test_a_dry_run_makes_nothing(place: Place) -> None:
    assert await place.applier.check(place.job, [wanted(0)]) == ()
    assert not place.api.objects
    assert not place.store.pods_of(UID)


async def test_an_invalid_template_is_found_by_the_dry_run(place: Place) -> None:
    words = "spec.containers[0].image: Required value"
    place.api.refuse = lambda *_: ApiError(422, "Invalid", words)
    (problem,) = await place.applier.check(place.job, [wanted(0)])
    assert (problem.trouble, problem.message) == (Trouble.INVALID, words)


async def test_a_create_whose_answer_was_lost_finds_its_own_child(place: Place) -> None:
    place.api.add(f"{PODS}/mnist-0", wanted(0))
    assert await place.applier.create(place.job, [wanted(0)]) == ()
    assert [pod.rank for pod in place.store.pods_of(UID)] == [0]


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ({"ownerReferences": []}, "does not belong to this job"),
        ({"ownerReferences": [owner(uid="another")]}, "does not belong to this job"),
        ({"labels": {}}, "has lost its labels"),
    ],
    ids=["nobody's", "an earlier job's", "ours without labels"],
)
async def test_a_foreign_object_is_named_and_left_alone(
    place: Place, metadata: Raw, words: str
) -> None:
    foreign = wanted(0)
    foreign["metadata"] |= metadata
    place.api.add(f"{PODS}/mnist-0", foreign)
    before = dict(place.api.objects)
    (problem,) = await place.applier.create(place.job, [wanted(0)])
    assert problem.trouble is Trouble.CONFLICT
    assert "Pod mnist-0 exists" in problem.message
    assert words in problem.message
    assert place.api.objects == before


async def test_an_object_that_vanished_meanwhile_is_asked_for_again(place: Place) -> None:
    answers: dict[str, Any] = {"POST": ApiError(409, "AlreadyExists", "there")}
    place.api.refuse = lambda method, _: answers.get(method)
    (problem,) = await place.applier.create(place.job, [wanted(0)])
    assert problem.trouble is Trouble.UNAVAILABLE


async def test_a_pod_is_deleted_by_its_uid(place: Place) -> None:
    known = place.api.add(f"{PODS}/mnist-0", wanted(0))
    await place.applier.delete(place.job, [PodRef(name="mnist-0", uid=known["metadata"]["uid"])])
    assert not place.api.objects


@pytest.mark.parametrize(
    ("answer", "there"),
    [
        ({"kind": "Status", "status": "Success"}, False),
        (raw_pod(0, version="9", metadata={"deletionGracePeriodSeconds": 0}), False),
        (raw_pod(0, version="9", metadata={"deletionGracePeriodSeconds": 30}), True),
        (raw_pod(0, version="9", metadata={"finalizers": ["a.test/b"]}), True),
    ],
    ids=["gone", "gone at once", "has its grace", "held by a finalizer"],
)
async def test_what_the_answer_to_a_delete_means(
    place: Place, monkeypatch: pytest.MonkeyPatch, answer: Raw, there: bool
) -> None:
    place.store.put(raw_pod(0))
    monkeypatch.setattr(place.api, "_delete", lambda *_: answer)
    place.api.objects[f"{PODS}/mnist-0"] = raw_pod(0)
    await place.applier.delete(place.job, [PodRef(name="mnist-0", uid="pod-0")])
    assert bool(place.store.pods_of(UID)) is there


async def test_a_later_pod_of_the_name_is_not_deleted(place: Place) -> None:
    place.store.put(raw_pod(0, uid="earlier"))
    place.api.add(f"{PODS}/mnist-0", wanted(0))
    await place.applier.delete(place.job, [PodRef(name="mnist-0", uid="earlier")])
    assert place.api.objects
    assert not place.store.pods_of(UID)


async def test_a_pod_that_is_gone_already_is_fine(place: Place) -> None:
    place.store.put(raw_pod(0))
    await place.applier.delete(place.job, [PodRef(name="mnist-0", uid="pod-0")])
    assert not place.store.pods_of(UID)


async def test_a_refused_deletion_is_raised_when_all_were_tried(place: Place) -> None:
    place.api.refuse = lambda *_: ApiError(500, "InternalError", "oh")
    refs = [PodRef(name=f"mnist-{rank}", uid=str(rank)) for rank in range(3)]
    with pytest.raises(ApiError, match="oh"):
        await place.applier.delete(place.job, refs)


async def test_a_job_is_deleted_if_nobody_changed_it(place: Place) -> None:
    place.api.objects[JOB] = a_body()
    await place.applier.delete_job(place.job)
    assert not place.api.objects
    changed = a_body()
    changed["metadata"]["resourceVersion"] = "11"
    place.api.objects[JOB] = changed
    await place.applier.delete_job(place.job)
    assert place.api.objects
    place.api.refuse = lambda *_: ApiError(403, "Forbidden", "no")
    with pytest.raises(ApiError):
        await place.applier.delete_job(place.job)
