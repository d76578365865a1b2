"""Paces, pauses and lists: what the executor remembers between two looks at a job."""

from dataclasses import replace

import pytest

from builders import NOW, UID, a_job
from cluster.fakeapi import FakeApi
from cluster.raw import raw_pod
from trainingjobs.cluster.backoff import Backoff
from trainingjobs.cluster.observe import YOUNG_SECONDS, Observer
from trainingjobs.cluster.pace import GAP_SECONDS, SETTLE_SECONDS, Pace
from trainingjobs.cluster.refusals import Refusals
from trainingjobs.cluster.store import Store
from trainingjobs.model.observed import Problem, Trouble
from trainingjobs.model.status import Phase, Status

PROBLEMS = (Problem(trouble=Trouble.QUOTA, name="mnist-worker-1", message="exceeded quota"),)


class Clock:
    """A time that only the test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        """The time."""
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_delays_double_up_to_the_longest() -> None:
    backoff = Backoff(first=1.0, longest=60.0, chance=lambda: 0.0)
    assert [backoff.delay(failures) for failures in (1, 2, 3, 6, 7, 10_000)] == [
        1,
        2,
        4,
        32,
        60,
        60,
    ]


def test_chance_shortens_a_delay() -> None:
    assert 0.75 <= Backoff(chance=lambda: 0.999).delay(1) < 1.0


def refusals(clock: Clock) -> Refusals:
    """Refusals without chance."""
    return Refusals(Backoff(chance=lambda: 0.0), clock)


def test_a_refusal_stands_until_its_pause_is_over(clock: Clock) -> None:
    known, job = refusals(clock), a_job()
    known.note(job, PROBLEMS)
    assert known.standing(job) == PROBLEMS
    assert known.seconds_left(UID) == 1.0
    clock.now += 1.0
    assert known.standing(job) == ()
    known.note(job, PROBLEMS)
    assert known.seconds_left(UID) == 2.0


def test_a_changed_spec_is_tried_at_once(clock: Clock) -> None:
    known, job = refusals(clock), a_job()
    known.note(job, PROBLEMS)
    known.note(job, PROBLEMS)
    changed = replace(job, generation=2)
    assert known.standing(changed) == ()
    known.note(changed, PROBLEMS)
    assert known.seconds_left(UID) == 1.0


def test_success_forgets_refusals(clock: Clock) -> None:
    known, job = refusals(clock), a_job()
    known.note(job, PROBLEMS)
    known.note(job, ())
    assert known.seconds_left(UID) is None
    known.note(job, PROBLEMS)
    known.forget(UID)
    assert known.standing(job) == ()


def test_a_change_that_comes_alone_waits_a_moment(clock: Clock) -> None:
    pace = Pace(clock)
    assert pace.seconds_left(UID) is None
    assert pace.must_wait(UID)
    clock.now += SETTLE_SECONDS
    assert not pace.must_wait(UID)


def test_changes_that_come_together_are_written_together(clock: Clock) -> None:
    pace, writes = Pace(clock), 0
    for _ in range(500):
        clock.now += 0.01
        if not pace.must_wait(UID):
            pace.wrote(UID)
            writes += 1
    assert writes == 3
    assert pace.must_wait(UID)
    assert (pace.seconds_left(UID) or 0) <= GAP_SECONDS


def test_what_came_to_rest_does_not_wait(clock: Clock) -> None:
    pace = Pace(clock)
    pace.must_wait(UID)
    pace.settled(UID)
    assert pace.seconds_left(UID) is None
    pace.wrote(UID)
    pace.forget(UID)
    assert pace.must_wait(UID)


class Watched:
    """An observer in front of a fake server with one pod."""

    def __init__(self, clock: Clock) -> None:
        self.api = FakeApi()
        self.store = Store(lambda: NOW)
        self.clock = clock
        self.api.add("/api/v1/namespaces/lab/pods/mnist-0", raw_pod(0))
        self.observer = Observer(self.api, self.store, 300.0, clock)  # type: ignore[arg-type]

    async def lists(self, *, finished: bool = False) -> int:
        """How many requests a look takes."""
        before = len(self.api.calls)
        status = Status(phase=Phase.SUCCEEDED) if finished else Status()
        await self.observer.observe(a_job(status=status))
        return len(self.api.calls) - before


async def test_the_first_look_lists_and_the_next_ones_remember(clock: Clock) -> None:
    watched = Watched(clock)
    seen = await watched.observer.observe(a_job())
    assert [pod.rank for pod in seen.pods] == [0]
    assert not seen.service
    assert await watched.lists() == 0


async def test_a_young_operator_looks_again_soon(clock: Clock) -> None:
    watched = Watched(clock)
    await watched.lists()
    assert 15.0 <= (watched.observer.seconds_left(a_job()) or 0) <= 30.0
    clock.now += 31.0
    assert await watched.lists() == 2
    assert 150.0 <= (watched.observer.seconds_left(a_job()) or 0) <= 300.0


async def test_an_old_operator_looks_again_when_it_is_time(clock: Clock) -> None:
    watched = Watched(clock)
    clock.now += YOUNG_SECONDS
    await watched.lists()
    clock.now += 149.0
    assert await watched.lists() == 0
    clock.now += 151.0
    assert await watched.lists() == 2


async def test_a_finished_job_is_listed_once(clock: Clock) -> None:
    watched = Watched(clock)
    assert await watched.lists(finished=True) == 2
    clock.now += 10_000.0
    assert await watched.lists(finished=True) == 0
    assert watched.observer.seconds_left(a_job(status=Status(phase=Phase.FAILED))) is None


async def test_a_list_finds_what_the_watch_lost(clock: Clock) -> None:
    watched = Watched(clock)
    await watched.lists()
    watched.api.objects.clear()
    watched.api.revision += 5
    clock.now += 31.0
    assert (await watched.observer.observe(a_job())).pods == ()


async def test_a_forgotten_job_is_a_new_one(clock: Clock) -> None:
    watched = Watched(clock)
    await watched.lists()
    watched.observer.forget(UID)
    assert await watched.lists() == 2
