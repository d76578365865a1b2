"""What the operator says of its own health, and when it ends itself."""

import asyncio
import logging

import pytest

from handlers.instant import run
from trainingjobs.handlers import vigil
from trainingjobs.handlers.health import GRACE_SECONDS, Health
from trainingjobs.handlers.vigil import Vigil


class Patient:
    """A health with a time that the test moves, and what it is told."""

    def __init__(self) -> None:
        self.now = 100.0
        self.wrong: dict[str, str] = {}
        self.ended = False
        health = Health(lambda: self.now)
        for name in ("watch", "queue"):
            health.checks[name] = lambda name=name: self.wrong.get(name)  # type: ignore[misc]
        self.vigil = Vigil(health, self.end)

    def end(self) -> None:
        """The operator ends."""
        self.ended = True

    def look(self, **wrong: str) -> None:
        """A look five seconds later."""
        self.now += 5
        self.wrong = wrong
        self.vigil.look()


def test_an_illness_is_told_once_and_so_is_its_end(caplog: pytest.LogCaptureFixture) -> None:
    patient = Patient()
    patient.look()
    patient.look(queue="a job has been waiting for 61 s")
    patient.look(queue="a job has been waiting for 66 s")
    patient.look(queue="a job has been waiting for 71 s", watch="it is deaf")
    patient.look(watch="it is deaf")
    patient.look()
    patient.look()
    assert caplog.messages == [
        "not well: queue: a job has been waiting for 61 s",
        "not well: watch: it is deaf; queue: a job has been waiting for 71 s",
        "well again",
    ]
    assert not patient.ended


def test_before_it_ends_itself_it_says_why(caplog: pytest.LogCaptureFixture) -> None:
    patient = Patient()
    for _ in range(int(GRACE_SECONDS / 5)):
        patient.look(watch="it is deaf")
    assert not patient.ended
    patient.look(watch="it is deaf")
    assert (patient.ended, patient.vigil.hopeless) == (True, True)
    assert caplog.messages[-1] == "ending, to be started anew: watch: it is deaf"


def test_the_vigil_ends_when_there_is_no_hope() -> None:
    patient = Patient()

    async def scenario() -> float:
        patient.wrong, loop = {"watch": "it is deaf"}, asyncio.get_running_loop()
        patient.vigil._health.clock = loop.time  # noqa: SLF001 - the same time for both
        await patient.vigil.keep()
        return loop.time()

    assert run(scenario()) == pytest.approx(GRACE_SECONDS + vigil.CHECK_SECONDS)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [({}, "stopping"), ({"watch": "it is deaf"}, "stopping, and not well: watch: it is deaf")],
)
def test_who_ends_it_finds_what_was_wrong(
    wrong: dict[str, str], words: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The kubelet ends what is ill, and leaves no word of it in the log."""
    caplog.set_level(logging.INFO)
    patient = Patient()
    patient.wrong = wrong
    patient.vigil.farewell()
    assert caplog.messages == [words]


def test_a_task_that_fails_is_told_at_once(caplog: pytest.LogCaptureFixture) -> None:
    async def fails() -> None:
        raise ValueError("half a line")

    async def scenario() -> None:
        task, other = vigil.started(fails()), vigil.started(asyncio.sleep(60))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert task.done()
        other.cancel()
        await asyncio.gather(task, other, return_exceptions=True)

    run(scenario())
    assert caplog.messages == ["a background task has failed"]
    assert "half a line" in caplog.text


@pytest.mark.parametrize(("seconds", "told"), [(0, []), (0.3, ["still waiting for the list"])])
async def test_a_long_wait_is_told_once(
    seconds: float,
    told: list[str],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(vigil, "LONG_SECONDS", 0.1)
    with vigil.waiting("the list"):
        await asyncio.sleep(seconds)
    await asyncio.sleep(0.2)
    assert caplog.messages == told
