"""What begins with the lead and ends with it."""

# ruff: noqa: SLF001 - the parts are what this is about

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from builders import NOW, UID, a_body
from handlers.instant import run
from status.told import a_told_job, over
from trainingjobs.cluster.callers import Caller
from trainingjobs.handlers.answers import RefusedError
from trainingjobs.handlers.program import Program
from trainingjobs.handlers.reports import Reports
from trainingjobs.model.report import Report
from trainingjobs.model.report import Stage as Reached
from trainingjobs.settings import Settings

KEY = ("lab", "mnist")
CALLER = Caller(key=KEY, job_uid=UID, pod_uid="p", attempt=1, instance=0, processes=1, size=1)


class Stage:
    """An operator whose Lease is what the test says."""

    def __init__(self) -> None:
        self.holds = False
        self.badge: list[str] = []
        election: Any = SimpleNamespace(holds=lambda: self.holds, holder="other_1")
        stands: Any = SimpleNamespace(election=election, badge=SimpleNamespace(change=self._change))
        api: Any = SimpleNamespace(on_answer=None)
        self.program: Any = Program(Settings(port=0), api, stands)
        self.looks: list[Any] = []
        self.program._queue._work = self._look
        self.program._store.put_job(a_body())
        self.office = self.program._office

    def _change(self, predecessor: str = "") -> None:
        self.badge.append(predecessor)

    async def _look(self, key: Any) -> None:
        self.looks.append(key)

    def lead(self) -> None:
        """It has the Lease."""
        self.holds = True
        self.office.begin("other_1")

    async def lose(self) -> None:
        """It has lost it."""
        self.holds = False
        await self.office.end()


def test_a_standby_looks_at_nothing_and_at_all_when_it_leads() -> None:
    async def scenario() -> None:
        stage = Stage()
        stage.program._wake(KEY)
        await asyncio.sleep(60)
        assert stage.looks == []
        assert not stage.office.leads()
        assert stage.program._health.complaints() == []
        stage.lead()
        await asyncio.sleep(60)
        assert stage.looks == [KEY]
        assert stage.office.leads()
        assert stage.badge == ["other_1"]
        await stage.lose()

    run(scenario())


def test_who_has_lost_the_lead_sends_no_message_that_waits() -> None:
    async def scenario() -> None:
        stage = Stage()
        stage.lead()
        own = stage.program._notifier
        job = a_told_job(**over())
        asked = asyncio.Event()

        async def request(*_: Any) -> Any:
            asked.set()
            await asyncio.sleep(60)

        own.api, own.clock = SimpleNamespace(request=request), lambda: NOW
        own.webhook = SimpleNamespace()
        own.note(job, job.status)
        await asked.wait()
        await stage.lose()
        assert own._going == {}
        assert own.note(job, job.status).notified == []
        await own.stop()

    run(scenario())


def test_who_has_lost_the_lead_is_well_and_may_have_it_again() -> None:
    async def scenario() -> None:
        stage = Stage()
        stage.lead()
        await asyncio.sleep(1)
        await stage.lose()
        stage.program._wake(KEY)
        await asyncio.sleep(600)
        assert stage.program._health.complaints() == []
        assert stage.looks == [KEY]
        stage.lead()
        await asyncio.sleep(1)
        assert stage.looks == [KEY, KEY]
        await stage.lose()
        assert stage.badge == ["other_1", "", "other_1", ""]

    run(scenario())


def test_no_look_outlives_its_term() -> None:
    async def scenario() -> None:
        stage = Stage()
        ended: list[str] = []

        async def long(_: Any) -> None:
            try:
                await asyncio.sleep(1000)
            finally:
                ended.append("cut short")

        stage.program._queue._work = long
        stage.lead()
        await asyncio.sleep(1)
        await stage.lose()
        assert ended == ["cut short"]

    run(scenario())


def test_what_was_reported_goes_with_the_lead() -> None:
    async def scenario() -> None:
        stage = Stage()
        report = Report(version=1, process="a", stage=Reached.SPAWNED)
        stage.lead()
        stage.program._rolls.take(CALLER, report, 100)
        assert stage.program._rolls.jobs == 1
        await stage.lose()
        assert stage.program._rolls.jobs == 0

    run(scenario())


def test_a_report_that_was_on_its_way_when_the_lead_was_lost_is_not_taken() -> None:
    async def scenario() -> None:
        stage = Stage()
        rolls = stage.program._rolls
        body = b'{"version": 1, "process": "a", "stage": "spawned"}'
        asked = asyncio.Event()
        passes: Any = SimpleNamespace(read=lambda _: _claims(), proof=_after(asked))
        reports = Reports(
            passes=passes,
            callers=SimpleNamespace(find=lambda _: CALLER),  # type: ignore[arg-type]
            rolls=rolls,
            allowance=SimpleNamespace(spend=lambda _: 0),  # type: ignore[arg-type]
            ring=lambda *_: None,
            ready=lambda _: stage.office.leads(),
            body_seconds=5,
        )
        stage.lead()
        task = asyncio.create_task(reports.take(_request(body)))
        await asyncio.sleep(1)
        await stage.lose()
        asked.set()
        with pytest.raises(RefusedError) as refusal:
            await task
        assert (refusal.value.status, rolls.jobs) == (503, 0)

    run(scenario())


def test_a_new_leader_begins_with_an_empty_roll() -> None:
    async def scenario() -> None:
        stage = Stage()
        report = Report(version=1, process="a", stage=Reached.SPAWNED)
        stage.program._rolls.take(CALLER, report, 100)
        stage.lead()
        assert stage.program._rolls.jobs == 0
        await stage.lose()

    run(scenario())


def _claims() -> Any:
    return SimpleNamespace(bound=SimpleNamespace(namespace=KEY[0]), pod_uid="p")


def _after(event: asyncio.Event) -> Any:
    async def proof(*_: Any) -> None:
        await event.wait()

    return proof


def _request(body: bytes) -> Any:
    class Request(dict[Any, Any]):
        content_type = "application/json"
        content_length = len(body)
        headers = {"Authorization": "Bearer x"}  # noqa: RUF012
        remote = "10.0.0.1"

        async def read(self) -> bytes:
            return body

    return Request()


def test_a_standby_tells_of_no_job() -> None:
    stage = Stage()
    assert b"trainingjob_phase" not in stage.program.metrics.text_of_jobs()
    assert b"trainingjob_operator_jobs{" not in stage.program.metrics.text()
    assert b"trainingjob_operator_leader 0.0" in stage.program.metrics.text()
    stage.holds, stage.office.serves = True, True
    assert b"trainingjob_phase" in stage.program.metrics.text_of_jobs()
    assert b"trainingjob_operator_leader 1.0" in stage.program.metrics.text()
