"""What a diagnosis costs: it grows with the group, and no faster, well or ill.

Calls are counted, not seconds: a count is the same on every machine.
"""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from builders import NOW, a_job, a_pod, seen
from diagnosis.given import a_report, an_entry, idle, joining, spawned, waiting
from trainingjobs.diagnosis.diagnose import diagnose
from trainingjobs.model.roll import Entry, Roll

PER_RANK = 70
"""Calls for each rank, of a tenth of a microsecond and more: 0.1 s for ten thousand ranks."""

GROUPS: dict[str, Callable[[int, int], Any]] = {
    "all step": a_report,
    "one stands and all wait": lambda rank, world: (
        idle(rank, world=world) if rank == 7 else waiting(rank, world=world)
    ),
    "each stands at another line": lambda rank, world: waiting(rank, line=rank, world=world),
    "many are missing": lambda rank, world: (
        joining(rank, 40, world=world) if rank % 3 else spawned(rank, rank, world=world)
    ),
    "none has a sampler or a wrapper": lambda rank, world: a_report(
        rank,
        world,
        data={"sampler": "default", "samples": 9, "fingerprint": "x"},
        model={"exchange": "none"},
    ),
    "two thirds are slow": lambda rank, world: a_report(rank, world, own_seconds=rank % 3),
    "parameters and devices differ": lambda rank, world: a_report(
        rank, world, device="GPU-1", checksum={"step": rank % 7, "value": f"{rank}"}
    ),
    "one pod reports for all": lambda rank, world: an_entry(
        spawned(None, world=world, pid=rank + 1, parent=rank, process=f"p{rank}"), 0
    ),
}


def calls(size: int, make: Callable[[int, int], Any]) -> int:
    """How many functions one diagnosis of a whole group calls."""
    job = a_job(size)
    told = (make(rank, size) for rank in range(size))
    entries = tuple(one if isinstance(one, Entry) else an_entry(one) for one in told)
    there = seen(*map(a_pod, range(size)), roll=Roll(entries=entries))
    count = 0

    def step(_: FrameType, event: str, __: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(step)
    try:
        diagnose(job, there, NOW)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("make", GROUPS.values(), ids=GROUPS)
def test_the_cost_of_a_diagnosis_is_linear(make: Callable[[int, int], Any]) -> None:
    small, large = calls(100, make), calls(1000, make)
    assert large < 12 * small
    assert large < PER_RANK * 1000
