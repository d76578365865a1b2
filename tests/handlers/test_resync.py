"""The list that finds what the watch lost."""

import asyncio

import pytest

from builders import NOW, a_body
from cluster.fakeapi import FakeApi
from handlers.instant import run
from trainingjobs.cluster import paths
from trainingjobs.cluster.errors import ApiError
from trainingjobs.cluster.store import Store
from trainingjobs.handlers.health import Ear, Health
from trainingjobs.handlers.resync import Resync

KEY = ("lab", "mnist")
JOB = paths.job("lab", "mnist")


class Round:
    """A resync in front of a fake server."""

    def __init__(self, namespaces: tuple[str, ...] = ("lab",)) -> None:
        self.api = FakeApi()
        self.store = Store(lambda: NOW)
        self.ear = Ear()
        self.health = Health(lambda: 0.0)
        self.woken: list[tuple[str, str]] = []
        self.resync = Resync(
            api=self.api,  # type: ignore[arg-type]
            store=self.store,
            ear=self.ear,
            health=self.health,
            wake=self.woken.append,
            namespaces=namespaces,
        )


@pytest.fixture
def here() -> Round:
    return Round()


async def test_what_the_watch_did_not_tell_is_found(here: Round) -> None:
    here.api.add(JOB, a_body())
    await here.resync.once()
    await here.resync.once()
    assert here.woken == [KEY]
    assert here.health.ready
    assert here.ear.deaf


async def test_what_is_gone_is_found(here: Round) -> None:
    here.store.put_job(here.api.add(JOB, a_body()))
    del here.api.objects[JOB]
    here.api.revision += 1
    await here.resync.once()
    assert here.woken == [KEY]
    assert here.store.job(KEY) is None


async def test_nothing_new_wakes_nobody(here: Round) -> None:
    here.store.put_job(here.api.add(JOB, a_body()))
    await here.resync.once()
    assert not here.woken


def test_without_namespaces_the_cluster_is_listed() -> None:
    here = Round(namespaces=())
    asyncio.run(here.resync.once())
    assert here.api.calls == [("GET", "/apis/trainingjob.dev/v1/trainingjobs")]


def test_it_goes_on_when_the_server_is_out() -> None:
    async def scenario() -> int:
        here = Round()
        served = asyncio.Event()
        task = asyncio.create_task(here.resync.run(served))
        await asyncio.sleep(100)
        assert not here.api.calls
        here.api.refuse = lambda *_: ApiError(503, "ServiceUnavailable", "out")
        served.set()
        await asyncio.sleep(12)
        here.api.refuse = lambda *_: None
        await asyncio.sleep(70)
        task.cancel()
        return len(here.api.calls)

    assert run(scenario()) == 5
