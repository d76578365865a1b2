"""What the roll call found out about a group: facts for conditions, findings for people."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from trainingjobs.model.report import Stage


class Kind(StrEnum):
    """What is wrong, in one stable word: a reason of conditions and events."""

    MISSING = "RanksMissing"
    STALLED = "Stalled"
    STRAGGLER = "Straggler"
    UNSHARDED = "DataNotSharded"
    UNWRAPPED = "ModelNotWrapped"
    EPOCH = "EpochNotSet"
    DIVERGED = "ReplicasDiffer"
    SHARED_DEVICE = "DeviceShared"
    UNDESTROYED = "ProcessGroupNotDestroyed"
    LEFT_EARLY = "RankLeftEarly"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong: whose, where, and what to do, in one sentence."""

    kind: Kind
    ranks: tuple[int, ...]
    """The guilty global ranks, ascending."""
    message: str
    """At most MAX_MESSAGE characters, one line."""
    line: str | None = None
    """The owning line of the user's script, as `train.py:12`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """What a condition says; `truth` None means Unknown."""

    truth: bool | None
    reason: str
    message: str = ""
    certain: bool = False
    """True where nothing speaks against it: enough to end a group for it."""


class RankStanding(NamedTuple):
    """Where one global rank stands; a tuple, since there may be ten thousand of them."""

    rank: int
    instance: int
    pod: str
    node: str | None = None
    stage: Stage | None = None
    """None while nothing was heard of it."""
    since: datetime | None = None
    step: int = 0
    rate: float = 0.0
    line: str | None = None
    """The innermost line of the user's, as `train.py:12`."""
    waits_in: str | None = None
    silent: bool = False
    """True when a report is long overdue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Headway:
    """How far the training as a whole has come."""

    step: int
    """The step that all ranks have done; the user's own count where it was told."""
    told: bool = False
    """True where `step` is the user's own count, which goes on after a restart."""
    total: int | None = None
    rate: float | None = None
    """Steps per second of the group."""
    epoch: float | None = None
    metrics: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """All that the roll call knows of one attempt; a fact that is None is not spoken of."""

    ranks: tuple[RankStanding, ...] = ()
    registered: Fact | None = None
    stalled: Fact | None = None
    sharded: Fact | None = None
    wrapped: Fact | None = None
    findings: tuple[Finding, ...] = ()
    """The gravest first."""
    headway: Headway | None = None
    stacks: str = ""
    """All ranks' stacks, those that are alike told once; empty unless stalled."""
    partial: bool = False
    """True while the operator has not heard for long, and not of all: what was told stands."""
    look_again: datetime | None = None
    """When time alone changes the answer."""
