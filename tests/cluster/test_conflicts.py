"""A conflict on a deletion means that the object is another only where it is."""

from typing import Any

import pytest

from builders import NOW, UID, a_body, a_job
from cluster.fakeapi import FakeApi
from cluster.raw import raw_pod
from trainingjobs.cluster import paths
from trainingjobs.cluster.apply import Applier
from trainingjobs.cluster.errors import ApiError
from trainingjobs.cluster.store import Store
from trainingjobs.plan.decision import PodRef

POD = f"{paths.pods('lab')}/mnist-master"


def conflicts(method: str, _path: str) -> ApiError | None:
    return ApiError(409, "Conflict", "try again") if method == "DELETE" else None


@pytest.fixture
def api() -> FakeApi:
    api = FakeApi()
    api.refuse = conflicts
    return api


def applier(api: Any, store: Store) -> Applier:
    return Applier(api, store, 4)


async def test_a_pod_that_still_stands_is_not_taken_for_gone(api: FakeApi) -> None:
    store = Store(lambda: NOW)
    pod = raw_pod(0, uid="pod-0")
    store.put(pod)
    api.objects[POD] = pod
    with pytest.raises(ApiError, match="try again"):
        await applier(api, store).delete(a_job(), [PodRef(name="mnist-master", uid="pod-0")])
    assert store.pods_of(UID)


async def test_a_pod_that_is_another_by_now_is_gone(api: FakeApi) -> None:
    store = Store(lambda: NOW)
    store.put(raw_pod(0, uid="pod-0"))
    api.objects[POD] = raw_pod(0, uid="pod-1")
    await applier(api, store).delete(a_job(), [PodRef(name="mnist-master", uid="pod-0")])
    assert not store.pods_of(UID)


async def test_a_job_that_still_stands_is_deleted_later(api: FakeApi) -> None:
    api.objects[paths.job("lab", "mnist")] = a_body()
    with pytest.raises(ApiError, match="try again"):
        await applier(api, Store(lambda: NOW)).delete_job(a_job())
