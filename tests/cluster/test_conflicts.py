"""A refused deletion or change means that the object is another only where it is."""

from typing import Any

import pytest

from builders import NOW, UID, a_body, a_job
from cluster.fakeapi import FakeApi
from cluster.raw import Raw, raw_group, raw_pod, raw_service
from trainingjobs.cluster import paths
from trainingjobs.cluster.apply import Applier
from trainingjobs.cluster.errors import ApiError
from trainingjobs.cluster.store import Store
from trainingjobs.model.gang import Gang, GroupSeen
from trainingjobs.model.observed import Trouble
from trainingjobs.plan.decision import PodRef

POD = f"{paths.pods('lab')}/mnist-master"
SERVICE = f"{paths.services('lab')}/mnist"
GROUP = f"{paths.pod_groups(Gang.VOLCANO, 'lab')}/mnist"
SEEN = GroupSeen(gang=Gang.VOLCANO, name="mnist", uid="group-1", members=3)


def conflicts(method: str, _path: str) -> ApiError | None:
    return ApiError(409, "Conflict", "try again") if method == "DELETE" else None


@pytest.fixture
def api() -> FakeApi:
    api = FakeApi()
    api.refuse = conflicts
    return api


def a_store() -> Store:
    """One that knows the job."""
    store = Store(lambda: NOW)
    store.put_job(a_body())
    return store


def applier(api: Any, store: Store) -> Applier:
    return Applier(api, store, 4)


async def test_a_pod_that_still_stands_is_not_taken_for_gone(api: FakeApi) -> None:
    store = a_store()
    pod = raw_pod(0, uid="pod-0")
    store.put(pod)
    api.objects[POD] = pod
    with pytest.raises(ApiError, match="try again"):
        await applier(api, store).delete(a_job(), [PodRef(name="mnist-master", uid="pod-0")])
    assert store.pods_of(UID)


async def test_a_pod_that_is_another_by_now_is_gone(api: FakeApi) -> None:
    store = a_store()
    store.put(raw_pod(0, uid="pod-0"))
    api.objects[POD] = raw_pod(0, uid="pod-1")
    await applier(api, store).delete(a_job(), [PodRef(name="mnist-master", uid="pod-0")])
    assert not store.pods_of(UID)


async def test_a_job_that_still_stands_is_deleted_later(api: FakeApi) -> None:
    api.objects[paths.job("lab", "mnist")] = a_body()
    with pytest.raises(ApiError, match="try again"):
        await applier(api, a_store()).delete_job(a_job())


async def test_a_pod_group_that_still_stands_is_not_taken_for_gone(api: FakeApi) -> None:
    store = a_store()
    store.put(raw_group())
    api.objects[GROUP] = raw_group()
    with pytest.raises(ApiError, match="try again"):
        await applier(api, store).delete_groups(a_job(), [SEEN])
    assert store.groups_of(UID) == (SEEN,)


async def test_a_pod_group_that_is_another_by_now_is_gone(api: FakeApi) -> None:
    store = a_store()
    store.put(raw_group())
    api.objects[GROUP] = raw_group(uid="group-2")
    await applier(api, store).delete_groups(a_job(), [SEEN])
    assert store.groups_of(UID) == ()


def patch(of: Raw) -> Raw:
    """A change of what is there as this."""
    kind = {field: of[field] for field in ("apiVersion", "kind")}
    metadata = {field: of["metadata"][field] for field in ("name", "namespace", "uid")}
    return {**kind, "metadata": metadata, "spec": {"ports": [{"port": 1031}], "minMember": 5}}


THINGS = pytest.mark.parametrize(
    ("make", "path"), [(raw_service, SERVICE), (raw_group, GROUP)], ids=["service", "pod group"]
)
REFUSALS = pytest.mark.parametrize(
    ("status", "reason", "trouble"),
    [(409, "Conflict", Trouble.UNAVAILABLE), (422, "Invalid", Trouble.UNCHANGED)],
)


def of(store: Store) -> list[str]:
    """The uids of what is known."""
    service = store.service_of(UID)
    return [it.uid for it in (*store.groups_of(UID), *([service] if service else []))]


@THINGS
@REFUSALS
async def test_a_change_that_is_refused_of_what_still_stands_is_a_problem(
    make: Any, path: str, status: int, reason: str, trouble: Trouble
) -> None:
    store, api, raw = a_store(), FakeApi(), make()
    store.put(raw)
    api.objects[path] = raw
    api.refuse = lambda method, _: ApiError(status, reason, "no") if method == "PATCH" else None
    (problem,) = await applier(api, store).change(a_job(), [patch(raw)])
    assert (problem.trouble, problem.name, problem.message) == (trouble, "mnist", "no")
    assert of(store) == [raw["metadata"]["uid"]]


@THINGS
@REFUSALS
async def test_a_change_of_what_is_another_by_now_is_none_and_no_problem(
    make: Any, path: str, status: int, reason: str, trouble: Trouble
) -> None:
    store, api, raw = a_store(), FakeApi(), make()
    store.put(raw)
    api.objects[path] = make(uid="a-later-one")
    api.refuse = lambda method, _: ApiError(status, reason, "no") if method == "PATCH" else None
    assert await applier(api, store).change(a_job(), [patch(raw)]) == (), trouble
    assert of(store) == []


@THINGS
async def test_a_server_that_cannot_say_whose_it_is_leaves_the_refusal(
    make: Any, path: str
) -> None:
    store, api, raw = a_store(), FakeApi(), make()
    store.put(raw)
    answers = {"PATCH": ApiError(409, "Conflict", "first"), "GET": ApiError(503, "", "then")}
    api.refuse = lambda method, at: answers[method] if at == path else None
    (problem,) = await applier(api, store).change(a_job(), [patch(raw)])
    assert (problem.trouble, problem.message) == (Trouble.UNAVAILABLE, "first")
    assert of(store) == [raw["metadata"]["uid"]]
