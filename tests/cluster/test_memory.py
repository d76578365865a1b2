"""Paces and pauses: what the executor remembers between two looks at a job."""

from dataclasses import replace

import pytest

from builders import UID, a_job
from trainingjobs.cluster.backoff import Backoff
from trainingjobs.cluster.pace import GAP_SECONDS, SETTLE_SECONDS, Pace
from trainingjobs.cluster.refusals import Refusals
from trainingjobs.model.observed import Problem, Trouble

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
