"""Candidates for one Lease: at most one holds it, whatever the network and the clocks do."""

import asyncio
import copy
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handlers.instant import run
from trainingjobs.cluster.election import Candidate, Election
from trainingjobs.cluster.errors import ApiError

PATH = "/apis/coordination.k8s.io/v1/namespaces/lab/leases"
TODAY = datetime(2026, 3, 1, tzinfo=UTC)


class Leases:
    """What the API server keeps, by its rules."""

    def __init__(self) -> None:
        self.body: dict[str, Any] | None = None
        self.revision = 0

    @property
    def holder(self) -> str:
        """Whose it is by the record."""
        return "" if self.body is None else self.body["spec"]["holderIdentity"]

    def answer(self, method: str, body: dict[str, Any] | None) -> dict[str, Any]:
        """One request, carried out."""
        if method == "POST":
            if self.body is not None:
                raise ApiError(409, "AlreadyExists", "it is there")
        elif self.body is None:
            raise ApiError(404, "NotFound", "it is not there")
        elif method == "GET":
            return copy.deepcopy(self.body)
        elif body is not None and body["metadata"]["resourceVersion"] != str(self.revision):
            raise ApiError(409, "Conflict", "it has changed")
        self.revision += 1
        stored = copy.deepcopy(body or {})
        stored["metadata"]["resourceVersion"] = str(self.revision)
        self.body = stored
        return copy.deepcopy(stored)


class Wire:
    """The way of one candidate to the API server: each request takes its time, both ways."""

    def __init__(self, leases: Leases, delay: Callable[[], float]) -> None:
        self.leases = leases
        self.delay = self.back = delay
        self.cut = False
        self.asked: list[str] = []

    async def request(
        self, method: str, _path: str, *, body: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """The answer, later."""
        self.asked.append(method)
        sent = copy.deepcopy(body)
        if self.cut:
            raise ApiError(0, "Unreachable", "the cable is out")
        await asyncio.sleep(self.delay())
        found = self.leases.answer(method, sent)
        await asyncio.sleep(self.back())
        return found


class Seat:
    """An office that notes what begins and ends."""

    def __init__(self, notes: list[str], name: str) -> None:
        self.notes = notes
        self.name = name

    def begin(self, predecessor: str) -> None:
        """Somebody begins."""
        self.notes.append(f"{self.name} after {predecessor or 'nobody'}")

    async def end(self) -> None:
        """And ends."""
        self.notes.append(f"{self.name} ends")


class Room:
    """Some candidates, each with a clock of its own."""

    def __init__(self, delay: Callable[[], float] = lambda: 0.01) -> None:
        self.leases = Leases()
        self.delay = delay
        self.notes: list[str] = []
        self.most = 0
        self.all: dict[str, tuple[Election, Wire, asyncio.Task[None]]] = {}

    def enter(self, name: str, skew: float = 0.0, jump: Callable[[], float] = float) -> Wire:
        """One more stands; its clock may be ahead, and may jump."""
        loop, wire = asyncio.get_running_loop(), Wire(self.leases, self.delay)
        who = Candidate(
            namespace="lab",
            name="lead",
            me=f"{name}_1",
            clock=lambda: loop.time() + skew + jump(),
            today=lambda: TODAY + timedelta(seconds=loop.time()),
        )
        election = Election(wire, who)  # type: ignore[arg-type]
        self.all[name] = election, wire, asyncio.create_task(election.run(Seat(self.notes, name)))
        return wire

    async def watch(self, seconds: float) -> None:
        """Count the holders meanwhile."""
        for _ in range(int(seconds / 0.05)):
            await asyncio.sleep(0.05)
            self.most = max(self.most, len(self.holders))

    @property
    def holders(self) -> list[str]:
        """Who may write now."""
        return [name for name, (election, *_) in self.all.items() if election.holds()]

    async def leave(self, name: str) -> None:
        """A clean stop."""
        election, _, task = self.all.pop(name)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await election.release()

    async def kill(self, name: str) -> None:
        """No goodbye."""
        _, wire, task = self.all.pop(name)
        wire.cut = True
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def close(self) -> None:
        """All go home."""
        for name in list(self.all):
            await self.kill(name)


def test_the_first_one_leads_and_goes_on() -> None:
    async def scenario() -> None:
        room = Room()
        room.enter("a", skew=1e6)
        await room.watch(0.5)
        room.enter("b")
        await room.watch(100)
        assert (room.holders, room.most) == (["a"], 1)
        assert room.notes == ["a after nobody"]
        await room.close()

    run(scenario())


def test_a_clean_stop_is_followed_at_once() -> None:
    async def scenario() -> None:
        room = Room()
        room.enter("a")
        await room.watch(5)
        room.enter("b")
        await room.watch(5)
        await room.leave("a")
        assert room.leases.holder == ""
        await room.watch(1.2)
        assert (room.holders, room.most) == (["b"], 1)
        assert room.notes == ["a after nobody", "a ends", "b after a_1"]
        await room.close()

    run(scenario())


def test_a_death_is_followed_when_its_time_is_over() -> None:
    async def scenario() -> None:
        room = Room()
        room.enter("a")
        await room.watch(5)
        room.enter("b", skew=-500)
        await room.watch(5)
        await room.kill("a")
        await room.watch(7)
        assert room.holders == []
        await room.watch(5)
        assert room.holders == ["b"]
        await room.close()

    run(scenario())


def test_who_is_cut_off_stops_before_the_next_begins_and_stands_by_afterwards() -> None:
    async def scenario() -> None:
        room = Room()
        cable = room.enter("a")
        await room.watch(5)
        room.enter("b")
        await room.watch(5)
        cable.cut = True
        await room.watch(20)
        assert (room.holders, room.most) == (["b"], 1)
        cable.cut = False
        await room.watch(20)
        assert room.holders == ["b"]
        assert room.notes == ["a after nobody", "a ends", "b after a_1"]
        await room.close()

    run(scenario())


def test_an_api_server_that_was_gone_for_all_has_a_leader_again_at_once() -> None:
    async def scenario() -> None:
        room = Room()
        wires = [room.enter("a"), room.enter("b")]
        await room.watch(5)
        for wire in wires:
            wire.cut = True
        await room.watch(60)
        assert room.holders == []
        for wire in wires:
            wire.cut = False
        await room.watch(1.2)
        assert len(room.holders) == 1
        assert room.most == 1
        await room.close()

    run(scenario())


def test_who_slept_through_its_time_holds_nothing_when_it_wakes() -> None:
    async def scenario() -> None:
        slept = 0.0
        room = Room()
        room.enter("a", jump=lambda: slept)
        await room.watch(5)
        assert room.holders == ["a"]
        slept = 60.0
        assert room.holders == []
        await room.close()

    run(scenario())


def test_a_lease_that_somebody_deletes_makes_no_second_leader() -> None:
    async def scenario() -> None:
        room = Room()
        room.enter("a")
        await room.watch(5)
        room.enter("b")
        await room.watch(5)
        room.leases.body = None
        await room.watch(30)
        assert (room.holders, room.most) == (["a"], 1)
        assert room.leases.holder == "a_1"
        await room.close()

    run(scenario())


def test_a_renewal_whose_answer_was_lost_costs_nothing() -> None:
    async def scenario() -> None:
        delays = iter([0.0] * 8 + [3.5])
        room = Room(lambda: next(delays, 0.0))
        room.enter("a")
        await room.watch(30)
        assert room.notes == ["a after nobody"]
        assert room.holders == ["a"]
        await room.close()

    run(scenario())


def test_a_term_counts_from_the_question_however_late_the_answer_is() -> None:
    async def scenario() -> None:
        room = Room(lambda: 0.0)
        cable = room.enter("a")
        await room.watch(5)
        room.enter("b")
        await room.watch(5)
        cable.back = lambda: 2.9
        await room.watch(10)
        renewed = room.leases.revision
        while room.leases.revision == renewed:
            await room.watch(0.05)
        await room.watch(2.95)
        cable.cut = True
        await room.watch(15)
        assert (room.holders, room.most) == (["b"], 1)
        await room.close()

    run(scenario())


def test_requests_that_take_long_keep_nobody_from_taking_over() -> None:
    async def scenario() -> None:
        room = Room()
        room.enter("a")
        room.enter("b")
        await room.watch(5)
        (first,) = room.holders
        for _, wire, _ in room.all.values():
            wire.delay = wire.back = lambda: 0.9
        await room.kill(first)
        await room.watch(60)
        assert len(room.holders) == 1
        await room.close()

    run(scenario())


def test_a_claim_that_was_on_its_way_is_given_up_as_well() -> None:
    async def scenario() -> None:
        room = Room(lambda: 0.0)
        wire = room.enter("a")
        await room.watch(5)
        known = room.leases.answer

        def late(method: str, body: dict[str, Any] | None) -> dict[str, Any]:
            if method == "GET":
                room.leases.answer = known  # type: ignore[method-assign]
                found = known(method, body)
                room.leases.revision += 1
                room.leases.body = {**found, "metadata": {"resourceVersion": "9999"}}
                room.leases.revision = 9999
                return found
            return known(method, body)

        room.leases.answer = late  # type: ignore[method-assign]
        await room.leave("a")
        assert wire.asked[-4:] == ["GET", "PUT", "GET", "PUT"]
        assert room.leases.holder == ""
        await room.close()

    run(scenario())


def test_who_may_not_ask_says_so_aloud(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        room = Room()

        def forbidden(_: str, __: Any) -> Any:
            raise ApiError(403, "Forbidden", "leases is forbidden")

        room.leases.answer = forbidden  # type: ignore[method-assign]
        room.enter("a")
        await room.watch(5)
        election, *_ = room.all["a"]
        assert not election.stands
        await room.close()

    run(scenario())
    assert [it.levelname for it in caplog.records] == ["WARNING"]


DELAYS = st.lists(st.sampled_from([0.0, 0.02, 0.5, 2.0, 2.9, 6.0]), min_size=1, max_size=40)
EVENTS = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["cut", "mend", "kill", "leave", "enter"])),
    max_size=12,
)


@settings(max_examples=30, deadline=None)
@given(delays=DELAYS, events=EVENTS)
def test_there_are_never_two(delays: list[float], events: list[tuple[str, str]]) -> None:
    """Requests take long both ways, cables break, candidates die and come back under new names."""

    async def scenario() -> None:
        turns = iter(range(1_000_000))
        room = Room(lambda: delays[next(turns) % len(delays)])
        for number, name in enumerate("abc"):
            room.enter(name, skew=1000.0 * number)
        for number, (name, what) in enumerate(events):
            await room.watch(3)
            if what == "enter":
                room.enter(f"{name}{number}")
            elif name in room.all:
                await _happen(room, name, what)
        await room.watch(30)
        assert room.most <= 1
        await room.close()

    run(scenario())


async def _happen(room: Room, name: str, what: str) -> None:
    if what in {"cut", "mend"}:
        room.all[name][1].cut = what == "cut"
    elif what == "kill":
        await room.kill(name)
    else:
        await room.leave(name)
