"""Doorbells: an event goes into the store and wakes the job it is about, and nothing else."""

from typing import Any

import kopf
import pytest
from kopf._cogs.clients import watching

from builders import NOW, UID, a_body
from cluster.raw import raw_pod, raw_service
from trainingjobs.cluster.store import Store
from trainingjobs.handlers import watch
from trainingjobs.handlers.health import Ear
from trainingjobs.handlers.watch import Doorbells

KEY = ("lab", "mnist")


class House:
    """A store, an ear, and everybody who was woken."""

    def __init__(self) -> None:
        self.store = Store(lambda: NOW)
        self.ear = Ear()
        self.woken: list[tuple[str, str]] = []
        self.bells = Doorbells(store=self.store, ear=self.ear, wake=self.woken.append)


@pytest.fixture
def house() -> House:
    return House()


def test_a_job_is_known_and_woken(house: House) -> None:
    house.bells.job(None, a_body())
    house.bells.job("MODIFIED", a_body())
    assert house.store.job(KEY) is not None
    assert house.woken == [KEY]


def test_a_job_that_is_gone_wakes_to_be_forgotten(house: House) -> None:
    house.bells.job("ADDED", a_body())
    house.bells.job("DELETED", a_body())
    assert house.store.job(KEY) is None
    assert house.woken == [KEY, KEY]


@pytest.mark.parametrize("child", [raw_pod(), raw_service()], ids=["pod", "service"])
def test_a_child_wakes_its_job(house: House, child: dict[str, Any]) -> None:
    house.bells.child("ADDED", child)
    assert not house.woken, "a job that is not known yet will be woken by its own event"
    house.bells.child("DELETED", child)
    house.store.put_job(a_body())
    child["metadata"]["uid"] = "another"
    house.bells.child("ADDED", child)
    house.bells.child("MODIFIED", child)
    house.bells.child("DELETED", child)
    assert house.woken == [KEY, KEY]
    assert not house.store.pods_of(UID)


def test_what_is_nobodys_wakes_nobody(house: House) -> None:
    house.bells.child("ADDED", raw_pod(metadata={"ownerReferences": []}))
    house.bells.child("DELETED", raw_pod(metadata={"ownerReferences": []}))
    assert not house.woken


async def test_an_event_that_cannot_be_read_is_logged(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    handler = watch._guarded(house.bells.child)  # noqa: SLF001 - what escaped would end a watch
    await handler(event={"type": "ADDED", "object": {"kind": "Pod"}}, spec={})
    assert "could not be taken in" in caplog.text


@pytest.mark.parametrize("child", [raw_pod(), raw_service()], ids=["pods", "services"])
def test_a_child_is_taken_in_as_it_comes_out_of_the_watch(
    house: House, child: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    plural = request.node.callspec.id
    house.store.put_job(a_body())
    assert house.bells.takes(plural, {"type": "ADDED", "object": child})
    assert house.woken == [KEY]
    assert not house.bells.takes(plural, {"type": "BOOKMARK", "object": child})
    assert not house.bells.takes(plural, watching.Bookmark.LISTED)
    assert house.woken == [KEY]


def test_jobs_are_brought_by_kopf(house: House) -> None:
    assert not house.bells.takes("trainingjobs", {"type": "ADDED", "object": a_body()})
    assert not house.woken


def test_a_child_that_cannot_be_read_is_logged(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    assert house.bells.takes("pods", {"type": "ADDED", "object": {"kind": "Pod"}})
    assert "could not be taken in" in caplog.text


def test_kopf_knows_three_doorbells_and_no_other_handler(house: House) -> None:
    registry = kopf.OperatorRegistry()
    house.bells.hang(registry)
    assert len(registry._watching.get_all_handlers()) == 3  # noqa: SLF001 - kopf tells no other way
    assert not registry._changing.get_all_handlers()  # noqa: SLF001
    assert not registry._spawning.get_all_handlers()  # noqa: SLF001
