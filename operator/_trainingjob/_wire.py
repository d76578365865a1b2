"""The report of this moment, as the operator reads it: the words of its wire format."""

from __future__ import annotations

import itertools
import os
import time
from typing import Any

from _trainingjob import _frames, _identity, _network, _usage, _waits
from _trainingjob._data import DATA
from _trainingjob._guard import part
from _trainingjob._rhythm import BEAT, TALE
from _trainingjob._standing import ENDED, ME


class Meter:
    """What the process used between two reports."""

    def __init__(self) -> None:
        self.time = time.monotonic()
        self.used = _usage.Used()

    def since(self, before: Meter) -> dict[str, float]:
        """Cores that it used or waited for, and bytes per second."""
        seconds = max(1e-3, self.time - before.time)
        now, then = self.used, before.used
        cores = max(0.0, now.cpu - then.cpu) + now.starved(then)
        return {
            "cpu": round(cores / seconds, 3),
            "io": round(max(0, now.io - then.io) / seconds, 1),
        }


class Last:
    """When the last report was."""

    meter = Meter()
    number = itertools.count(1)


def report() -> dict[str, Any]:
    """Everything; a part that cannot be told at this moment is left out."""
    every = (_who, _where, _beat, _used, _stack, _division, _network.told, _end)
    told: dict[str, Any] = {"version": 1, "number": next(Last.number)}
    for tell in every:
        told.update(tell() or {})
    return {name: value for name, value in told.items() if value is not None}


@part
def _who() -> dict[str, Any]:
    me = ME.now
    rank, world = _identity.group()
    if rank is not None and rank >= 0:
        me.rank, me.world = rank, world
    launcher = _identity.is_launcher()
    return {
        "process": me.process,
        "pid": me.pid,
        "parent": os.getppid(),
        "launcher": launcher,
        "rank": None if launcher else me.rank,
        "worldSize": me.world,
    }


def _where() -> dict[str, Any]:
    me = ME.now
    return {
        "stage": me.stage,
        "stageSeconds": _seconds(time.monotonic() - me.since),
        "lines": dict(me.lines),
        "device": me.device,
        "checksum": me.checksum,
    }


@part
def _beat() -> dict[str, Any]:
    now = time.monotonic()
    BEAT.stir(now)
    own, data = BEAT.shares()
    return {
        "steps": BEAT.steps,
        "rate": round((BEAT if BEAT.steps else TALE).rate(now), 6),
        "quietSeconds": _seconds(BEAT.quiet(now)),
        "longestQuiet": _seconds(BEAT.longest),
        "ownSeconds": own and round(own, 6),
        "dataSeconds": data and round(data, 6),
        "told": dict(ME.now.told),
    }


@part
def _used() -> dict[str, Any]:
    before, Last.meter = Last.meter, Meter()
    return Last.meter.since(before)


@part
def _stack() -> dict[str, Any]:
    stack = _frames.main_stack()
    return {"frames": _frames.frames(stack), "waitsIn": _waits.waits_in(stack)}


@part
def _division() -> dict[str, Any]:
    return {"data": DATA.told()}


def _end() -> dict[str, Any]:
    me = ME.now
    known = me.stage == ENDED and me.grouped
    return {"error": me.error, "destroyed": me.destroyed if known else None}


def _seconds(span: float) -> float:
    return round(max(0.0, span), 3)
