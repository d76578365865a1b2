"""What is seen of a job's pods, service and pod group: a frozen snapshot that decisions rest on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from trainingjobs.model.gang import Gang, GroupSeen
from trainingjobs.model.roll import Roll


@dataclass(frozen=True, slots=True, kw_only=True)
class Exit:
    """How a training container ended."""

    code: int
    reason: str = ""
    message: str = ""
    finished: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """What a container, or the pod as a whole, waits for, in the cluster's own words."""

    reason: str
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSeen:
    """One pod that the job owns, cut down to what decisions need."""

    name: str
    uid: str
    rank: int
    attempt: int
    phase: str = "Pending"
    node: str | None = None
    scheduled: bool = False
    running: bool = False
    exit: Exit | None = None
    lingers: bool = False
    waiting: Waiting | None = None
    unschedulable: str | None = None
    deletion_requested: datetime | None = None
    deletion_due: datetime | None = None
    disruption: str | None = None
    noticed_end: datetime | None = None
    beside: tuple[str, ...] = ()
    """Containers that run beside the training one."""

    @property
    def holds_resources(self) -> bool:
        """True until all containers have ended, a sidecar that never does included."""
        return self.lingers or not self.ended

    @property
    def terminating(self) -> bool:
        """True once somebody asked for its deletion."""
        return self.deletion_requested is not None

    @property
    def succeeded(self) -> bool:
        """True when the training container ended with exit code 0."""
        return self.exit is not None and self.exit.code == 0

    @property
    def failed(self) -> bool:
        """True when the training container, or the pod before it ran, ended otherwise."""
        if self.exit is not None:
            return self.exit.code != 0
        return self.phase == "Failed"

    @property
    def ended(self) -> bool:
        """True when the training container will not run again."""
        return self.exit is not None or self.phase in {"Succeeded", "Failed"}


class Trouble(StrEnum):
    """Why the API server did not take an object of ours, or a change of one."""

    INVALID = "InvalidTemplate"
    QUOTA = "QuotaExceeded"
    FORBIDDEN = "Forbidden"
    CONFLICT = "NameConflict"
    LEFTOVER = "WaitingForOldPods"
    UNAVAILABLE = "ApiUnavailable"
    LEAVING = "NamespaceTerminating"
    UNCHANGED = "ChangeRefused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One refused create or change: what, why, and the API server's words."""

    trouble: Trouble
    name: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What was seen of pods that may be gone by now, by attempt and rank."""

    succeeded: frozenset[tuple[int, int]] = frozenset()
    vanished: Mapping[tuple[int, int], datetime] = field(default_factory=dict)

    def succeeded_in(self, attempt: int) -> frozenset[int]:
        """Ranks that were seen to succeed."""
        return frozenset(rank for number, rank in self.succeeded if number == attempt)

    def vanished_in(self, attempt: int) -> dict[int, datetime]:
        """Ranks whose pods were seen to vanish, and when."""
        return {rank: time for (number, rank), time in self.vanished.items() if number == attempt}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSeen:
    """The service that the job owns, cut down to what the operator has a say in."""

    name: str
    uid: str
    spec: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """All that is seen of one job; pods of other attempts included, others' pods never."""

    pods: tuple[PodSeen, ...] = ()
    service: ServiceSeen | None = None
    groups: tuple[GroupSeen, ...] = ()
    served: frozenset[Gang] = frozenset()
    """The pod groups that this cluster knows."""
    problems: tuple[Problem, ...] = ()
    past: Past = Past()
    roll: Roll = field(default_factory=Roll)
    """What the processes of the current attempt have reported."""

    def of(self, attempt: int) -> dict[int, PodSeen]:
        """The pods of one attempt by rank."""
        return {pod.rank: pod for pod in self.pods if pod.attempt == attempt}

    def others(self, attempt: int) -> tuple[PodSeen, ...]:
        """The pods of all other attempts."""
        return tuple(pod for pod in self.pods if pod.attempt != attempt)
