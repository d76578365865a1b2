"""The sweep that finds what a watch lost."""

import pytest

from builders import NOW, UID, a_body, a_job
from cluster.fakeapi import FakeApi
from cluster.raw import raw_pod, raw_service
from trainingjobs.cluster.errors import ApiError
from trainingjobs.cluster.observe import Sweep, observe
from trainingjobs.cluster.store import Store

KEY = ("lab", "mnist")
POD = "/api/v1/namespaces/lab/pods/mnist-0"
SERVICE = "/api/v1/namespaces/lab/services/mnist"


class Place:
    """A sweep in front of a fake server with one pod and one service."""

    def __init__(self) -> None:
        self.api = FakeApi()
        self.store = Store(lambda: NOW)
        self.store.put_job(a_body())
        self.woken: list[tuple[str, str]] = []
        self.api.add(POD, raw_pod(0))
        self.api.add(SERVICE, {**raw_service(), "kind": None})

    async def sweep(self, *namespaces: str) -> None:
        """Sweep these namespaces."""
        self.woken.clear()
        await self.sweeper(*namespaces).once()

    def sweeper(self, *namespaces: str) -> Sweep:
        """A sweep over these namespaces."""
        return Sweep(
            api=self.api,  # type: ignore[arg-type]
            store=self.store,
            wake=self.woken.append,
            namespaces=namespaces,
        )


@pytest.fixture
def place() -> Place:
    return Place()


async def test_all_that_is_there_is_found(place: Place) -> None:
    await place.sweep("lab")
    seen = observe(place.store, a_job())
    assert [pod.rank for pod in seen.pods] == [0]
    assert seen.service
    assert set(place.woken) == {KEY}


async def test_nothing_new_wakes_nobody(place: Place) -> None:
    await place.sweep("lab")
    await place.sweep("lab")
    assert not place.woken


async def test_what_vanished_unseen_is_found(place: Place) -> None:
    await place.sweep("lab")
    place.api.objects.clear()
    place.api.revision += 5
    await place.sweep("lab")
    seen = observe(place.store, a_job())
    assert not seen.pods
    assert not seen.service
    assert place.woken == [KEY, KEY]


async def test_pods_of_a_job_that_is_not_known_wake_nobody(place: Place) -> None:
    body = a_body()
    place.store.drop_job(body)
    await place.sweep("lab")
    assert not place.woken
    body["metadata"]["resourceVersion"] = "99"
    place.store.put_job(body)
    assert place.store.pods_of(UID)


async def test_without_namespaces_the_cluster_is_listed(place: Place) -> None:
    await place.sweep()
    lists = [path for _, path in place.api.calls if not path.startswith("/apis/scheduling.")]
    assert lists == ["/api/v1/pods", "/api/v1/services"]


async def test_a_namespace_that_refuses_keeps_no_other_from_being_swept(place: Place) -> None:
    place.api.refuse = lambda _, path: (
        ApiError(403, "Forbidden", "pods is forbidden") if "/closed/" in path else None
    )
    sweep = place.sweeper("closed", "lab")
    await sweep.once()
    assert observe(place.store, a_job()).pods
    assert sweep.swept == {"lab"}
    assert sweep.sees("lab")
    assert not sweep.sees("closed")


async def test_a_cluster_that_was_swept_is_seen_everywhere(place: Place) -> None:
    sweep = place.sweeper()
    assert not sweep.sees("lab")
    await sweep.once()
    assert sweep.sees("lab")


@pytest.mark.parametrize(
    ("status", "namespaces"),
    [(503, ("closed", "lab")), (0, ("closed", "lab")), (403, ("closed",)), (403, ())],
    ids=["out", "unreachable", "all refuse", "the cluster refuses"],
)
async def test_what_fails_a_sweep(place: Place, status: int, namespaces: tuple[str, ...]) -> None:
    place.api.refuse = lambda _, path: (
        ApiError(status, "Reason", "no") if "/lab/" not in path else None
    )
    with pytest.raises(ApiError):
        await place.sweep(*namespaces)


async def test_a_sweep_that_breaks_off_removes_nothing(place: Place) -> None:
    await place.sweep("lab")
    place.api.refuse = lambda *_: ApiError(503, "ServiceUnavailable", "out")
    with pytest.raises(ApiError):
        await place.sweep("lab")
    assert observe(place.store, a_job()).pods


async def test_a_watch_may_go_on_from_where_a_sweep_has_looked(place: Place) -> None:
    sweep = place.sweeper("lab")
    assert sweep.listed("pods", "lab") is None
    await sweep.once()
    version = str(place.api.revision)
    assert sweep.listed("pods", "lab") == version
    assert sweep.listed("services", "lab") == version
    assert sweep.listed("trainingjobs", "lab") is None
    assert sweep.listed("pods", "lab") is None
    await sweep.once()
    assert sweep.listed("pods", "lab") is None, "a watch that begins anew lists what is there"
    assert sweep.listed("pods", None) is None
