"""Where ranks stand, for who asks now: those at the same place once."""

from datetime import timedelta
from typing import Any

from builders import NOW, a_job, a_pod, seen
from diagnosis.given import a_report, an_entry, at_line
from trainingjobs.diagnosis import stacks
from trainingjobs.model.roll import Roll
from trainingjobs.model.whole import Stacks


def stand(world: int, *changes: dict[str, Any]) -> Stacks:
    entries = [
        an_entry(a_report(rank, world, **changed), received=NOW - timedelta(seconds=rank))
        for rank, changed in enumerate(changes)
    ]
    there = seen(*map(a_pod, range(world)), roll=Roll(entries=tuple(entries)))
    return stacks.asked(a_job(world), there, NOW)


def test_ranks_at_one_place_are_told_once_and_the_largest_group_first() -> None:
    alone, together = at_line(17, "load"), [*at_line(41, "step"), *at_line(80)]
    found = stand(
        4,
        {"frames": alone, "steps": 7},
        *[{"frames": together, "steps": steps, "waits_in": "all_reduce"} for steps in (8, 9)],
    )
    first, second = found.stacks
    assert (first.ranks, first.waits_in, first.steps) == ("1-2", "all_reduce", "8-9")
    assert [(it.line, it.function) for it in first.frames] == [(41, "step"), (80, "main")]
    assert first.heard == NOW - timedelta(seconds=1)
    assert (second.ranks, second.frames) == ("0", alone)
    assert (found.unheard, found.more) == ("3", 0)


def test_of_very_many_places_the_rest_is_counted() -> None:
    found = stand(300, *[{"frames": at_line(line)} for line in range(300)])
    assert (len(found.stacks), found.more) == (256, 44)


def test_where_nobody_reports_nobody_was_heard() -> None:
    found = stacks.asked(a_job(3), seen(), NOW)
    assert (found.stacks, found.unheard) == ([], "0-2")
