"""What a look at a job costs: it grows with the group, and no faster.

Calls are counted, not seconds: a count is the same on every machine.
"""

import sys
from types import FrameType
from typing import Any

import pytest

from builders import NOW, SITE, a_job, a_pod, seen
from trainingjobs.model.quantity import number
from trainingjobs.plan.decide import decide


def calls(size: int, **spec: Any) -> int:
    """How many functions one decision about a whole group calls."""
    job, there = a_job(size, **spec), seen(*(a_pod(rank) for rank in range(size)))
    count = 0

    def step(_: FrameType, event: str, __: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(step)
    try:
        decide(job, there, NOW, SITE)
    finally:
        sys.setprofile(before)
    return count


def test_the_cost_of_a_look_is_linear() -> None:
    small, large = calls(200), calls(2000)
    assert large < 12 * small


@pytest.mark.parametrize("text", ["1e999999", "1e99999m", "NaN", "Infinity", "-Infinity", "sNaN"])
def test_no_number_takes_longer_than_it_is_long(text: str) -> None:
    assert number(text) == 0
