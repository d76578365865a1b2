"""Pauses: what the executor remembers of refusals between two looks at a job."""

from dataclasses import replace

import pytest

from builders import UID, a_job
from trainingjobs.cluster.backoff import Backoff
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
