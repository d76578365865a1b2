"""How the parts are put together, as far as no API server is needed for that."""

# ruff: noqa: SLF001 - the parts are what this is about

import asyncio
from types import SimpleNamespace
from typing import Any

import kopf
import pytest

from builders import a_body
from handlers.instant import run
from trainingjobs.handlers import endurance, process
from trainingjobs.handlers.program import Program
from trainingjobs.settings import Settings

KEY = ("lab", "mnist")


@pytest.fixture(autouse=True)
def kopfs_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is wrapped here is unwrapped when the test ends."""
    monkeypatch.setattr(endurance.watching, "continuous_watch", None)
    monkeypatch.setattr(endurance.fetching, "fetch_objs", None)


def program() -> Any:
    """An operator whose API server is not there."""
    return Program(Settings(port=0), SimpleNamespace(on_answer=None))  # type: ignore[arg-type]


def test_kopf_is_told_who_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    told: dict[str, Any] = {}

    async def operator(**options: Any) -> None:
        told.update(options)

    monkeypatch.setattr(kopf, "operator", operator)
    monkeypatch.setenv("POD_NAME", "operator-0")
    info: Any = SimpleNamespace(server="https://api.test")
    assert asyncio.run(_run(info)) == 0
    assert told["identity"] == "operator-0"


async def _run(info: Any) -> int:
    code: int = await program().run(process.settings(), info)
    return code


def test_jobs_that_wait_for_the_first_list_are_no_illness() -> None:
    async def scenario() -> None:
        here = program()
        here._queue.start()
        for number in range(40):
            here._queue.wake(("lab", str(number)))
        await asyncio.sleep(1000)
        assert here._health.complaints() == []
        await here._queue.stop()

    run(scenario())


def test_a_background_task_that_ended_is_an_illness() -> None:
    async def scenario() -> None:
        here = program()
        here._tasks = [asyncio.create_task(asyncio.sleep(10))]
        assert here._health.complaints() == []
        await asyncio.sleep(11)
        assert here._health.complaints() == ["tasks: a background task has ended"]

    run(scenario())


@pytest.mark.parametrize(
    ("verb", "resource", "stuck"),
    [
        ("get", "pods/log", True),
        ("list", "events", True),
        ("create", "tokenreviews", True),
        ("create", "pods", False),
    ],
)
def test_what_is_asked_for_others_is_no_progress(verb: str, resource: str, stuck: bool) -> None:
    """Who follows a log on the page made an operator look well of which all workers were stuck."""

    async def scenario() -> None:
        here = program()
        here._health.progress.clock = asyncio.get_running_loop().time
        here._health.progress.begin()
        for _ in range(60):
            await asyncio.sleep(10)
            here._answered(verb, resource, 200)
        assert bool(here._health.progress.stuck(600)) is stuck

    run(scenario())


def test_nothing_is_decided_where_nothing_could_be_listed() -> None:
    async def scenario() -> None:
        here = program()
        here._served.set()
        here._store.put_job(a_body())
        assert await here._look(KEY) > 0
        here._resync.sweep.swept.add("lab")
        with pytest.raises(AttributeError):
            await here._look(KEY)

    run(scenario())
