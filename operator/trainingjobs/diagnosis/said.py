"""What was heard, unpacked once for all questions.

A report is a large object, and a group may have ten thousand of them: questions that each go
through all would each fetch all from memory again, which takes longer than to answer them.
"""

from datetime import datetime, timedelta
from operator import attrgetter
from typing import NamedTuple

from trainingjobs.model.report import Checksum, Data, Error, Frame, Lines, Network, Stage, Told
from trainingjobs.model.roll import Entry


class Said(NamedTuple):
    """A report; its fields are described there."""

    process: str
    pid: int
    parent: int
    launcher: bool
    rank: int | None
    world_size: int | None
    stage: Stage
    stage_seconds: float
    steps: int
    rate: float
    quiet_seconds: float
    longest_quiet: float
    cpu: float
    io: float
    own_seconds: float | None
    data_seconds: float | None
    waits_in: str | None
    sequence: int | None
    frames: list[Frame]
    lines: Lines
    data: Data
    model: Network
    device: str | None
    checksum: Checksum | None
    error: Error | None
    destroyed: bool | None
    told: Told


class Heard(NamedTuple):
    """One process: what it said last, when, and whose it is."""

    instance: int
    received: datetime
    first: datetime
    interval: timedelta
    report: Said


_FIELDS = attrgetter(*Said._fields)


def unpacked(entry: Entry) -> Heard:
    """The same, unpacked."""
    report = Said(*_FIELDS(entry.report))
    return Heard(entry.instance, entry.received, entry.first, entry.interval, report)
