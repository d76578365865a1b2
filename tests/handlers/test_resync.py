"""The list that finds what the watch lost."""

import asyncio

import pytest

from builders import NOW, a_body
from cluster.fakeapi import FakeApi
from handlers.instant import run
from trainingjobs.cluster import paths
from trainingjobs.cluster.errors import ApiError
from trainingjobs.cluster.observe import Sweep
from trainingjobs.cluster.store import Store
from trainingjobs.handlers.health import Ear, Health
from trainingjobs.handlers.resync import Resync

KEY = ("lab", "mnist")
JOB = paths.job("lab", "mnist")


def now() -> float:
    """The loop's time, where there is a loop."""
    try:
        return asyncio.get_running_loop().time()
    except RuntimeError:
        return 0.0


class Round:
    """A resync in front of a fake server."""

    def __init__(self, namespaces: tuple[str, ...] = ("lab",)) -> None:
        self.api = FakeApi()
        self.store = Store(lambda: NOW)
        self.ear = Ear()
        self.health = Health(now)
        self.woken: list[tuple[str, str]] = []
        self.resync = Resync(
            api=self.api,  # type: ignore[arg-type]
            store=self.store,
            ear=self.ear,
            health=self.health,
            wake=self.woken.append,
            namespaces=namespaces,
            sweep=Sweep(
                api=self.api,  # type: ignore[arg-type]
                store=self.store,
                wake=self.woken.append,
                namespaces=namespaces,
            ),
            sweep_seconds=300.0,
        )


@pytest.fixture
def here() -> Round:
    return Round()


async def test_what_the_watch_did_not_tell_is_found(here: Round) -> None:
    here.api.add(JOB, a_body())
    await here.resync.once()
    await here.resync.once()
    assert here.woken == [KEY]
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


def out(here: Round) -> None:
    """The API server does not answer."""
    here.api.refuse = lambda *_: ApiError(503, "ServiceUnavailable", "out")


def closed(here: Round) -> None:
    """One namespace refuses us."""
    here.api.refuse = lambda _, path: (
        ApiError(403, "Forbidden", "trainingjobs is forbidden") if "/closed/" in path else None
    )


async def test_a_namespace_that_refuses_keeps_no_other_from_being_listed() -> None:
    here = Round(namespaces=("closed", "lab"))
    closed(here)
    here.api.add(JOB, a_body())
    await here.resync.once()
    await here.resync.once()
    assert here.store.job(KEY) is not None
    assert here.ear.deaf, "what was listed is compared"


def test_a_namespace_that_refuses_does_not_block_readiness() -> None:
    async def scenario() -> None:
        here = Round(namespaces=("closed", "lab"))
        closed(here)
        await here.resync.begin()
        assert here.health.ready

    run(scenario())


async def test_what_else_fails_one_namespace_is_a_failure_after_all_were_tried() -> None:
    here = Round(namespaces=("closed", "lab"))
    here.api.refuse = lambda _, path: (
        ApiError(500, "InternalError", "oh") if "/closed/" in path else None
    )
    here.api.add(JOB, a_body())
    with pytest.raises(ApiError):
        await here.resync.once()
    assert here.store.job(KEY) is not None


@pytest.mark.parametrize("loop", ["list_jobs", "sweep_children"])
def test_it_outlives_whatever_goes_wrong(loop: str, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        here = Round()

        def fails(*_: str) -> None:
            raise PermissionError("the token cannot be read")

        here.api.refuse = fails
        task = asyncio.create_task(getattr(here.resync, loop)())
        await asyncio.sleep(100)
        assert not task.done()
        assert len(here.api.calls) > 2
        task.cancel()

    run(scenario())
    assert "the token cannot be read" in caplog.text


@pytest.mark.parametrize("what", ["trainingjobs", "podsandservices"])
def test_lists_that_are_not_made_any_more_are_complained_about(what: str) -> None:
    async def scenario() -> None:
        here = Round()
        await here.resync.begin()
        assert here.health.rounds.missed() is None
        here.api.refuse = lambda _, path: (
            ApiError(503, "ServiceUnavailable", "out") if path.rsplit("/", 1)[-1] in what else None
        )
        tasks = [
            asyncio.create_task(here.resync.list_jobs()),
            asyncio.create_task(here.resync.sweep_children()),
        ]
        await asyncio.sleep(170)
        assert here.health.rounds.missed() is None
        await asyncio.sleep(760)
        assert here.health.rounds.missed()
        here.api.refuse = lambda *_: None
        await asyncio.sleep(10)
        assert here.health.rounds.missed() is None
        for task in tasks:
            task.cancel()

    run(scenario())


def test_it_is_ready_when_everything_was_listed_once() -> None:
    async def scenario() -> None:
        here = Round()
        out(here)
        task = asyncio.create_task(here.resync.begin())
        await asyncio.sleep(12)
        assert not here.health.ready
        assert len(here.api.calls) == 3
        here.api.refuse = lambda *_: None
        await task
        assert here.health.ready

    run(scenario())


@pytest.mark.parametrize(
    ("loop", "seconds", "calls"),
    [("list_jobs", 130, 2), ("list_jobs", 12, 0), ("sweep_children", 31, 5)],
    ids=["every minute", "not at once", "pods, services and which pod groups there are, soon"],
)
def test_it_lists_again_and_again(loop: str, seconds: float, calls: int) -> None:
    async def scenario() -> int:
        here = Round()
        task = asyncio.create_task(getattr(here.resync, loop)())
        await asyncio.sleep(seconds)
        task.cancel()
        return len(here.api.calls)

    assert run(scenario()) == calls


def test_it_goes_on_when_the_server_is_out() -> None:
    async def scenario() -> int:
        here = Round()
        out(here)
        task = asyncio.create_task(here.resync.list_jobs())
        await asyncio.sleep(60 + 5 + 5 + 1)
        task.cancel()
        return len(here.api.calls)

    assert run(scenario()) == 3


def test_when_the_server_is_back_all_jobs_are_looked_at() -> None:
    """Their looks have failed, and would be tried again up to a minute later."""

    async def scenario() -> list[tuple[str, str]]:
        here = Round()
        here.store.put_job(here.api.add(JOB, a_body()))
        task = asyncio.create_task(here.resync.list_jobs())
        await asyncio.sleep(61)
        assert here.woken == []
        out(here)
        await asyncio.sleep(60 + 5 + 5)
        assert here.woken == []
        here.api.refuse = lambda *_: None
        await asyncio.sleep(60 + 60)
        task.cancel()
        return here.woken

    assert run(scenario()) == [KEY]


def lists(here: Round) -> list[str]:
    """What was listed, in turn."""
    paths = [path for _, path in here.api.calls if not path.startswith("/apis/scheduling.")]
    return [path.rsplit("/", 1)[-1] for path in paths]


def test_a_lapsed_watch_makes_for_a_list_soon() -> None:
    async def scenario() -> list[str]:
        here = Round()
        tasks = [
            asyncio.create_task(here.resync.list_jobs()),
            asyncio.create_task(here.resync.sweep_children()),
        ]
        here.resync.lapsed("trainingjobs")
        await asyncio.sleep(3)
        first = lists(here)
        here.resync.lapsed("pods")
        await asyncio.sleep(3)
        for task in tasks:
            task.cancel()
        assert first == ["trainingjobs"]
        return lists(here)

    assert run(scenario()) == ["trainingjobs", "pods", "services"]
