"""What the operator tells of a job, and all that it remembers of it.

Counters and history live here and nowhere else: an operator that starts anew knows from
the resource alone which attempt runs and what it has cost so far.
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from trainingjobs.model.base import Model
from trainingjobs.model.training import (
    MAX_FINDINGS,
    MAX_TROUBLED,
    Found,
    Goodput,
    Training,
    TroubledRank,
)

MAX_ATTEMPTS_KEPT = 10

Count = Annotated[int, Field(ge=0)]
Message = Annotated[str, Field(max_length=4096)]


class Phase(StrEnum):
    """A summary for people; programs read the conditions."""

    SUSPENDED = "Suspended"
    PENDING = "Pending"
    STARTING = "Starting"
    RUNNING = "Running"
    RESTARTING = "Restarting"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


class Condition(Model):
    """One statement about the job, with the time since when it holds."""

    type: Annotated[str, Field(max_length=316)] = Field(description="What is said to hold or not.")
    status: Literal["True", "False", "Unknown"] = Field(description="True, False or Unknown.")
    reason: Annotated[str, Field(max_length=1024)] = Field(description="Why, in one stable word.")
    message: Message = Field(default="", description="Why, for people.")
    last_transition_time: datetime = Field(description="Since when the status is what it is.")
    observed_generation: Count = Field(
        default=0, description="The generation of the spec that this condition speaks of."
    )


class Instances(Model):
    """Where the instances of this attempt stand; the counts add up to PARALLEL_INSTANCES."""

    missing: Count = Field(default=0, description="Not created yet, or gone.")
    pending: Count = Field(default=0, description="Created and not yet on a node.")
    starting: Count = Field(default=0, description="On a node; images and containers on their way.")
    running: Count = Field(default=0, description="The training container runs.")
    succeeded: Count = Field(
        default=0, description="The training container ended with exit code 0."
    )
    failed: Count = Field(default=0, description="The training container ended otherwise.")
    terminating: Count = Field(default=0, description="Being deleted.")


class Failure(Model):
    """Which rank ended an attempt, and how."""

    rank: Count = Field(description="The instance that failed first; 0 is the master.")
    pod: str = Field(description="Its pod.")
    node: str | None = Field(default=None, description="The node of that pod.")
    exit_code: int | None = Field(default=None, description="Exit code of the training container.")
    reason: str = Field(description="How, in one word: Error, OOMKilled, Evicted, Deleted.")
    message: Message = Field(default="", description="The container's last lines.")
    time: datetime | None = Field(default=None, description="When the container ended.")
    victims: str = Field(default="", description="Ranks that fell over after it, as in 0,2-7.")


class Attempt(Model):
    """One attempt that is over."""

    attempt: Count = Field(description="Its number, from 1.")
    start_time: datetime | None = Field(default=None, description="When it was allowed to start.")
    end_time: datetime = Field(description="When it was given up.")
    reason: str = Field(description="Why it ended, in one stable word.")
    failure: Failure | None = Field(default=None, description="Which rank ended it, and how.")
    step: Count | None = Field(
        default=None, description="The last step that it told, where the script counts its steps."
    )


class Status(Model):
    """What is true of the job, as of the generation that was looked at."""

    observed_generation: Count = Field(
        default=0, description="The generation of the spec that this status speaks of."
    )
    phase: Phase | None = Field(default=None, description="A summary for people.")
    message: Message = Field(default="", description="In one sentence, what the job waits for.")
    ready: str = Field(default="", description="Instances that run or succeeded, of all: 3/3.")
    progress: str | None = Field(
        default=None, description="How far the training is: 40%, or step 1200."
    )
    training: Training | None = Field(
        default=None, description="How far the training has come in this attempt."
    )
    troubled_ranks: list[TroubledRank] = Field(
        default=[],
        max_length=MAX_TROUBLED,
        description="The first ranks that something is wrong with, or that are missing.",
    )
    findings: list[Found] = Field(
        default=[],
        max_length=MAX_FINDINGS,
        description="What the roll call found wrong, the gravest first.",
    )
    instances: Instances = Field(
        default=Instances(), description="Where the instances of this attempt stand."
    )
    replicas: Count = Field(default=0, description="Instances that exist, for kubectl scale.")
    selector: str = Field(default="", description="Label selector of the job's pods.")
    master_address: str = Field(default="", description="Name and port of the rendezvous.")
    attempt: Count = Field(default=0, description="The attempt that runs, from 1.")
    restarts: Count = Field(default=0, description="Restarts charged to maxRestarts.")
    disruptions: Count = Field(default=0, description="Restarts that the cluster caused.")
    group_size: Count = Field(
        default=0,
        description="Instances of this attempt; an elastic job may have fewer than it asks for.",
    )
    group_asked: Count = Field(
        default=0, description="PARALLEL_INSTANCES when this attempt was planned."
    )
    placement_timeouts: Count = Field(
        default=0,
        description="Groups released in a row because only a part of them found room.",
    )
    start_time: datetime | None = Field(default=None, description="When pods were first allowed.")
    attempt_start_time: datetime | None = Field(
        default=None, description="When this attempt was allowed to start."
    )
    starting_since: datetime | None = Field(
        default=None,
        description="Since when the group is to start; a release for lack of room changes nothing.",
    )
    running_time: datetime | None = Field(
        default=None, description="When all instances of this attempt first ran."
    )
    partial_since: datetime | None = Field(
        default=None, description="Since when only a part of the group has room."
    )
    plan_hash: Annotated[str, Field(max_length=64)] = Field(
        default="",
        description="What this attempt was planned from; another plan is another attempt.",
    )
    next_attempt_time: datetime | None = Field(
        default=None, description="When the next attempt starts, while it backs off."
    )
    completion_time: datetime | None = Field(default=None, description="When the job finished.")
    goodput: Goodput = Field(
        default=Goodput(), description="Where the time went since startTime, up to accountedTime."
    )
    accounted_time: datetime | None = Field(
        default=None, description="Up to when goodput is accounted for; the phase goes on since."
    )
    succeeded_ranks: str = Field(
        default="", description="Instances of this attempt that were seen to succeed, as in 0,2-7."
    )
    failure: Failure | None = Field(
        default=None, description="The first cause of the last failure."
    )
    attempts: list[Attempt] = Field(
        default=[], max_length=MAX_ATTEMPTS_KEPT, description="The last attempts that are over."
    )
    notified: list[Annotated[str, Field(max_length=32)]] = Field(
        default=[],
        max_length=4,
        description="The moments of spec.notify that were told, or given up with an event.",
    )
    conditions: list[Condition] = Field(
        default=[], max_length=32, description="What is true of the job, for programs."
    )

    @property
    def finished(self) -> bool:
        """True once the job has succeeded or failed: nothing about it changes after that."""
        return self.phase in {Phase.SUCCEEDED, Phase.FAILED}
