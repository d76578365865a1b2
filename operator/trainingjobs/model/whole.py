"""The whole status of a job as the operator's own HTTP service tells it: every rank of it."""

from datetime import datetime
from typing import Any

from pydantic import Field

from trainingjobs.model.base import Model
from trainingjobs.model.finding import Diagnosis, Finding, Kind, RankStanding
from trainingjobs.model.report import Frame, Stage


class Rank(Model):
    """Where one rank stands."""

    rank: int
    instance: int = Field(description="Number of its pod in the group; 0 is the master.")
    pod: str
    node: str | None = None
    stage: Stage | None = Field(default=None, description="Null while nothing was heard of it.")
    since: datetime | None = Field(default=None, description="When it came to this stage.")
    step: int = 0
    rate: float = Field(default=0, description="Steps per second, lately.")
    line: str | None = Field(default=None, description="The user's innermost line: train.py:12.")
    waits_in: str | None = Field(default=None, description="The collective that it is in.")
    silent: bool = Field(default=False, description="True when a report is long overdue.")


class Found(Model):
    """One thing that is wrong, and what to do."""

    type: Kind
    ranks: list[int] = Field(description="The guilty global ranks, ascending.")
    message: str
    line: str | None = None


class Whole(Model):
    """The status on the resource, and what does not fit there."""

    status: dict[str, Any] = Field(description="See kubectl explain trainingjob.status.")
    ranks: list[Rank]
    findings: list[Found] = Field(description="The gravest first.")


class Stack(Model):
    """Where some ranks stand, all at the same place."""

    ranks: str = Field(description="Their global ranks, such as 0,2-7.")
    stage: Stage
    waits_in: str | None = Field(default=None, description="The collective that they are in.")
    silent: bool = Field(default=False, description="True when their reports are long overdue.")
    steps: str = Field(description="The steps that they have done, such as 40-41.")
    heard: datetime = Field(description="When the one that was heard of last has reported.")
    frames: list[Frame] = Field(description="The innermost first.")


class Stacks(Model):
    """Where all ranks stand, as they said last: those at the same place are told once."""

    attempt: int
    stacks: list[Stack] = Field(description="The largest groups first.")
    unheard: str = Field(default="", description="Ranks of which nothing was heard.")
    more: int = Field(default=0, description="Ranks at other places, which are too many to tell.")


class Refused(Model):
    """Why a request was not served, and what to do about it."""

    error: str


def whole(status: dict[str, Any], diagnosis: Diagnosis) -> Whole:
    """All that is known of a job."""
    return Whole(
        status=status,
        ranks=[_rank(it) for it in diagnosis.ranks],
        findings=[_found(it) for it in diagnosis.findings],
    )


def _rank(standing: RankStanding) -> Rank:
    return Rank(**{name: getattr(standing, name) for name in Rank.model_fields})


def _found(finding: Finding) -> Found:
    return Found(
        type=finding.kind,
        ranks=list(finding.ranks),
        message=finding.message,
        line=finding.line,
    )
