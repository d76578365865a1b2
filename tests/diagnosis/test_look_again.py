"""When time alone changes the answer: never late, and never at once."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from builders import NOW, a_job, at
from diagnosis.given import (
    a_report,
    an_entry,
    idle,
    joining,
    long_ago,
    looked_at,
    spawned,
    waiting,
)

LONG = timedelta(hours=1)
"""Between reports that are asked for so seldom that nobody is silent here."""


def seldom(report: Any) -> Any:
    return an_entry(report, interval=LONG)


MOMENTS: dict[str, tuple[list[Any], datetime | None]] = {
    "the next report is overdue": ([a_report(0), a_report(1), a_report(2)], at(20)),
    "the first that is overdue": ([a_report(0), long_ago(a_report(1), 7), a_report(2)], at(13)),
    "the group stands for long enough": (
        [seldom(waiting(rank, 290)) for rank in range(3)],
        at(10),
    ),
    "a rank has worked for long enough": (
        [seldom(idle(0, 400, cpu=1.0)), seldom(waiting(1)), seldom(waiting(2))],
        at(1400),
    ),
    "the others have waited for long enough": (
        [seldom(joining(0, 10)), seldom(joining(2, 4)), seldom(spawned(1))],
        at(20),
    ),
    "all have come for long enough": (
        [seldom(joining(0, 10)), seldom(joining(2, 4)), seldom(joining(1, 1))],
        at(119),
    ),
    "nobody is expected any more": (
        [an_entry(spawned(rank), interval=LONG, first=at(-60)) for rank in range(3)],
        at(540),
    ),
    "all have ended": ([a_report(rank, stage="ended") for rank in range(3)], None),
    "all are silent": ([long_ago(a_report(rank), 99) for rank in range(3)], None),
    "nothing was heard": ([], None),
}


@pytest.mark.parametrize(("told", "moment"), MOMENTS.values(), ids=MOMENTS)
def test_the_next_look(told: list[Any], moment: datetime | None) -> None:
    assert looked_at(*told).look_again == moment


@pytest.mark.parametrize("told", [told for told, _ in MOMENTS.values()], ids=MOMENTS)
def test_looking_whenever_it_is_asked_for_comes_to_an_end(told: list[Any]) -> None:
    """Nobody reports any more, and the operator looks as often as it is told to."""
    now: datetime | None = NOW
    looks = 0
    while now is not None:
        again = looked_at(*told, now=now).look_again
        assert again is None or again > now
        now, looks = again, looks + 1
    assert looks < 10


def test_a_stall_is_named_at_the_very_moment() -> None:
    group = [seldom(waiting(rank, 25)) for rank in range(3)]
    job = a_job(3, stallTimeoutSeconds=30)
    again = looked_at(*group, job=job).look_again
    assert again == at(5)
    later = [an_entry(waiting(rank, 30), received=at(5)) for rank in range(3)]
    late = looked_at(*later, job=job, now=again or NOW).stalled
    assert late is not None
    assert late.truth is True


def test_the_default_interval_names_a_rank_that_is_stopped_soon_after_the_limit() -> None:
    """With a limit of 30 s: the last report is at most one interval older than the stall."""
    job = a_job(3, stallTimeoutSeconds=30)
    for late in range(6):
        stopped = long_ago(a_report(1), 30 + late)
        group = waiting(0, 30), waiting(2, 30), stopped
        found = looked_at(*group, job=job)
        assert [one.ranks for one in found.findings] == [(1,)]
