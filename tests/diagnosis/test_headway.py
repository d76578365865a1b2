"""How far the training is, whoever counts, and what is kept of a stall."""

import math
from typing import Any

import pytest

from builders import a_job
from diagnosis.given import a_report, at_line, idle, long_ago, looked_at, spawned, waiting
from trainingjobs.model.finding import Headway
from trainingjobs.model.report import MAX_FRAMES, Frame

COUNTED = {"step": 700, "total": 1000, "epoch": 1.5, "metrics": {"loss": 0.25, "acc": 0.5}}
METRICS = (("acc", 0.5), ("loss", 0.25))

HEADWAY: dict[str, tuple[list[Any], Headway | None]] = {
    "nobody steps yet": ([spawned(0), spawned(1)], None),
    "the slowest rank counts": (
        [a_report(0, steps=12), a_report(1, steps=10), a_report(2, steps=11)],
        Headway(step=10, rate=2.0),
    ),
    "the script's own count goes before": (
        [a_report(rank, steps=12, told=COUNTED) for rank in range(3)],
        Headway(step=700, told=True, total=1000, rate=2.0, epoch=1.5, metrics=METRICS),
    ),
    "the master tells for all": (
        [a_report(0, steps=12, told=COUNTED), a_report(1, steps=11), a_report(2, steps=12)],
        Headway(step=700, told=True, total=1000, rate=2.0, epoch=1.5, metrics=METRICS),
    ),
    "another rank tells": (
        [a_report(0, steps=12), a_report(2, steps=12, told={"metrics": {"loss": 0.25}})],
        Headway(step=12, rate=2.0, metrics=(("loss", 0.25),)),
    ),
    "the rate is the usual one": (
        [a_report(rank, rate=rate) for rank, rate in enumerate((1.0, 2.0, 9.0))],
        Headway(step=1000, rate=2.0),
    ),
    "who is silent does not hold the count back": (
        [a_report(0), a_report(1), long_ago(a_report(2, steps=3), 60)],
        Headway(step=1000, rate=2.0),
    ),
    "who has ended goes on counting": (
        [a_report(0, steps=50), a_report(1, steps=40, stage="ended")],
        Headway(step=40, rate=2.0),
    ),
    "a group that stands has no rate": (
        [waiting(0), waiting(2), idle(1)],
        Headway(step=1000, rate=0.0),
    ),
    "a framework whose script tells": (
        [spawned(0, told={"step": 7, "total": 70})],
        Headway(step=7, told=True, total=70),
    ),
}


@pytest.mark.parametrize(("told", "headway"), HEADWAY.values(), ids=HEADWAY)
def test_how_far_it_is(told: list[Any], headway: Headway | None) -> None:
    assert looked_at(*told).headway == headway


def test_a_loss_that_is_no_number_is_told() -> None:
    found = looked_at(a_report(0, told={"metrics": {"loss": "NaN"}}))
    assert found.headway is not None
    ((name, value),) = found.headway.metrics
    assert name == "loss"
    assert math.isnan(value)


def test_stacks_that_are_alike_are_told_once_and_the_guilty_first() -> None:
    group = [waiting(rank, world=8, steps=41) for rank in range(8) if rank != 3]
    found = looked_at(*group, idle(3, world=8, steps=41), job=a_job(8))
    assert found.stacks == (
        "rank 3 (stepping, step 41):\n"
        "  train.py:7 main\n"
        "\n"
        "ranks 0-2, 4-7 (backward, step 41):\n"
        "  train.py:30 main\n"
    )


def test_stacks_tell_who_is_silent_and_who_was_never_heard() -> None:
    group = [waiting(rank, 2000, world=4, steps=40 + rank) for rank in (0, 1)]
    found = looked_at(*group, long_ago(waiting(2, 1900, world=4, frames=[]), 100), job=a_job(4))
    assert found.stacks == (
        "ranks 0-1 (backward, steps 40-41):\n"
        "  train.py:30 main\n"
        "\n"
        "rank 2 (backward, silent, step 1000):\n"
        "  no stack\n"
        "\n"
        "rank 3: not heard of\n"
    )


def test_stacks_are_bounded() -> None:
    frames = [Frame(file="f" * 300, line=line, function="g" * 128) for line in range(MAX_FRAMES)]
    size = 200
    group = [waiting(r, world=size, frames=[*frames[1:], *at_line(r)]) for r in range(size)]
    found = looked_at(*group, job=a_job(size))
    assert len(found.stacks.encode()) < 900_000
    assert "more ranks, each at another place" in found.stacks


def test_there_are_no_stacks_while_all_is_well() -> None:
    assert not looked_at(*(a_report(rank) for rank in range(3))).stacks
