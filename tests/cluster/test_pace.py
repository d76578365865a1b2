"""How long a change waits for the next one, by what it changes; the last of all is told."""

import pytest

from trainingjobs.cluster.haste import Haste
from trainingjobs.cluster.pace import GAP_SECONDS, LONGEST_SECONDS, SETTLE_SECONDS, Pace
from trainingjobs.model.status import Instances

JOB = "uid-1"


class Clock:
    """A time that the test moves."""

    def __init__(self) -> None:
        self.now = 100.0
        self.pace = Pace(lambda: self.now)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_what_is_in_haste_never_waits(clock: Clock) -> None:
    clock.pace.wrote(JOB)
    assert not clock.pace.must_wait(JOB, Haste.NOW)
    assert clock.pace.seconds_left(JOB) is None


@pytest.mark.parametrize("haste", GAP_SECONDS)
def test_a_change_that_comes_alone_is_told_after_a_moment(clock: Clock, haste: Haste) -> None:
    assert clock.pace.must_wait(JOB, haste)
    clock.now += SETTLE_SECONDS
    assert not clock.pace.must_wait(JOB, haste)


@pytest.mark.parametrize(("haste", "gap"), GAP_SECONDS.items())
def test_those_that_come_together_are_told_once_in_a_gap(
    clock: Clock, haste: Haste, gap: float
) -> None:
    clock.pace.wrote(JOB)
    waited = 0.0
    while clock.pace.must_wait(JOB, haste):
        clock.now += SETTLE_SECONDS / 3
        waited += SETTLE_SECONDS / 3
    assert waited == pytest.approx(max(gap, SETTLE_SECONDS), abs=0.11)
    clock.pace.wrote(JOB)
    assert clock.pace.seconds_left(JOB) is None


@pytest.mark.parametrize(
    ("seconds_apart", "writes"), [(0.001, 0), (0.01, 2), (0.25, 62)], ids=["burst", "fast", "slow"]
)
def test_five_hundred_pods_that_become_ready_are_a_few_writes(
    clock: Clock, seconds_apart: float, writes: int
) -> None:
    written = 0
    for running in range(500):
        clock.now += seconds_apart
        if not clock.pace.must_wait(JOB, Haste.WORDS, Instances(running=running)):
            clock.pace.wrote(JOB)
            written += 1
    assert written == writes
    assert clock.pace.must_wait(JOB, Haste.WORDS)


def test_who_pauses_is_told_and_who_never_does_is_after_a_second(clock: Clock) -> None:
    began, running = clock.now, 0
    while clock.pace.must_wait(JOB, Haste.SOON, Instances(running=running)):
        clock.now, running = clock.now + 0.1, running + 1
    assert clock.now - began == pytest.approx(LONGEST_SECONDS, abs=0.11)
    clock.pace.wrote(JOB)
    assert clock.pace.must_wait(JOB, Haste.SOON, Instances(running=running))
    assert clock.pace.seconds_left(JOB) == pytest.approx(SETTLE_SECONDS)


def test_words_that_come_while_numbers_wait_are_told_sooner(clock: Clock) -> None:
    clock.pace.wrote(JOB)
    assert clock.pace.must_wait(JOB, Haste.NUMBERS)
    assert clock.pace.seconds_left(JOB) == 10
    assert clock.pace.must_wait(JOB, Haste.WORDS)
    assert clock.pace.seconds_left(JOB) == 2
    clock.pace.settled(JOB)
    assert clock.pace.seconds_left(JOB) is None


def test_a_job_that_is_gone_is_forgotten(clock: Clock) -> None:
    clock.pace.wrote(JOB)
    clock.pace.must_wait(JOB, Haste.NUMBERS)
    clock.pace.forget(JOB)
    clock.now += SETTLE_SECONDS
    assert clock.pace.must_wait(JOB, Haste.NUMBERS)
    assert clock.pace.seconds_left(JOB) == pytest.approx(SETTLE_SECONDS)
