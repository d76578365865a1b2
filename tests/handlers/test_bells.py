"""Which reports wake their job, how soon, and how often at most."""

import asyncio
from typing import Any

import pytest
import uvloop

from handlers.instant import run
from handlers.pods import a_caller, a_report
from trainingjobs.handlers import bells
from trainingjobs.handlers.bells import Bells
from trainingjobs.model.report import Report

A, B = ("lab", "a"), ("lab", "b")
QUIET = {"stageSeconds": 9, "quietSeconds": 9, "cpu": 9, "io": 9, "rate": 9, "longestQuiet": 9}
ERROR = {"error": {"type": "ValueError"}}
HERE, THERE = ([{"file": "t.py", "line": line, "function": "f"}] for line in (1, 2))


def word(**changes: Any) -> Report:
    return Report.model_validate(a_report(**changes))


@pytest.mark.parametrize(
    ("before", "now", "small", "large"),
    [
        (None, {}, 0.2, 2),
        ({}, {"stage": "joining"}, 0.2, 2),
        ({}, ERROR, 0.2, 0.2),
        (None, ERROR, 0.2, 0.2),
        (ERROR, ERROR, None, None),
        ({}, {}, None, None),
        ({}, QUIET, None, None),
        ({}, {"rank": 1}, 2, 2),
        ({}, {"device": "GPU-1"}, 2, 2),
        ({}, {"data": {"sampler": "default"}}, 2, 2),
        ({}, {"model": {"wrapper": "DDP"}}, 2, 2),
        ({}, {"destroyed": True}, 2, 2),
        ({}, {"told": {"sharded": True}}, 2, 2),
        ({"steps": 1}, {"steps": 2}, 5, 5),
        ({}, {"waitsIn": "backward"}, 5, 5),
        ({"frames": HERE}, {"frames": THERE}, 5, 5),
        ({}, {"told": {"step": 1}}, 5, 5),
        ({}, {"checksum": {"step": 1, "value": "a"}}, 5, 5),
    ],
)
def test_news_has_its_urgency(
    before: Any, now: Any, small: float | None, large: float | None
) -> None:
    old = None if before is None else word(**before)
    assert bells.gap(a_caller(size=4), old, word(**now), jobs=1) == small
    assert bells.gap(a_caller(size=400), old, word(**now), jobs=1) == large


def test_a_large_job_is_looked_at_less_often() -> None:
    caller = a_caller(size=1250, processes=8)
    assert bells.gap(caller, None, word(), jobs=1) == 20
    assert bells.gap(caller, word(), word(steps=1), jobs=1) == 50


async def looks(rings: list[tuple[float, Any, float]], until: float = 60) -> list[Any]:
    """When jobs are looked at, when bells are rung at these times with these gaps."""
    came, loop = [], asyncio.get_running_loop()
    start = loop.time()
    there = Bells(lambda key: came.append((round(loop.time() - start, 3), key)))
    for time, key, gap in rings:
        loop.call_later(time, there.ring, key, gap)
    await asyncio.sleep(until)
    there.stop()
    return came


@pytest.mark.parametrize(
    ("rings", "when"),
    [
        ([(0, A, 2)], [(0, A)]),
        ([(0, A, 2), (0.5, A, 2), (1, A, 2)], [(0, A), (2, A)]),
        ([(0, A, 2), (0.5, A, 5), (1, A, 2)], [(0, A), (2, A)]),
        ([(0, A, 2), (0.5, A, 5), (1, A, 0.2)], [(0, A), (1, A)]),
        ([(0, A, 2), (3, A, 2)], [(0, A), (3, A)]),
        ([(0, A, 2), (0.5, B, 2)], [(0, A), (0.5, B)]),
        ([(0, A, 5), (1, A, 5), (1, B, 5), (2, B, 5)], [(0, A), (1, B), (5, A), (6, B)]),
    ],
    ids=[
        *("at once", "the next ones together", "the shorter wins", "an error at once"),
        *("after its time", "each its own", "two"),
    ],
)
def test_bells_ring_at_once_and_then_together(rings: Any, when: Any) -> None:
    assert run(looks(rings)) == when


def test_two_hundred_reports_a_second_are_a_look_in_five() -> None:
    rings = [(number / 200, A, 5.0) for number in range(200 * 50)]
    assert len(run(looks(rings))) == pytest.approx(11, abs=1)


def test_after_the_end_nothing_rings() -> None:
    assert run(looks([(0, A, 5), (1, A, 5)], until=2)) == [(0, A)]


def test_a_bell_for_the_next_moment_can_be_followed_by_another() -> None:
    """Uvloop's handle of a timer that is due within half a millisecond does not know its time."""

    async def scenario() -> None:
        came = asyncio.Event()
        there = Bells(lambda _: came.set())
        there.ring(A, 0)
        came.clear()
        for seconds in (0.4, 0.0004, 0.0003, 0.0002):
            there.ring(A, seconds)
        await asyncio.wait_for(came.wait(), 30)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(scenario())
