"""How the training itself fares, as the status tells it: bounded, however many ranks there are.

Resource definitions hold no fractions well: what is one is told as a short text, and times and
counts are whole numbers.
"""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from trainingjobs.model.base import Model
from trainingjobs.model.report import MAX_METRICS

MAX_FINDINGS = 10
MAX_TROUBLED = 10

Count = Annotated[int, Field(ge=0)]
Seconds = Annotated[int, Field(ge=0)]
Short = Annotated[str, Field(max_length=32)]
Name = Annotated[str, Field(max_length=316)]
Line = Annotated[str, Field(max_length=300)]
Message = Annotated[str, Field(max_length=4096)]


class Training(Model):
    """How far the training has come in this attempt."""

    step: Count = Field(description="The step that all ranks have done.")
    counted_by: Literal["Script", "Optimizer"] = Field(
        default="Optimizer",
        description="Whose count it is: Script, told by trainingjob.report, which goes on after a "
        "restart from a checkpoint; Optimizer, the optimizer's steps of this attempt.",
    )
    total_steps: Count | None = Field(
        default=None, description="Steps of the whole training, where the script tells them."
    )
    steps_per_second: Short | None = Field(
        default=None, description="Steps per second of the group, lately: 3.2."
    )
    eta_seconds: Seconds | None = Field(
        default=None, description="Seconds to the last step at this rate."
    )
    epoch: Short | None = Field(
        default=None, description="The epoch, where the script tells it: 1.5."
    )
    metrics: dict[str, Short] = Field(
        default={},
        max_length=MAX_METRICS,
        description="What the script reports, such as the loss: four digits, or NaN.",
    )


class TroubledRank(Model):
    """A rank that something is wrong with, or that is missing."""

    rank: Count = Field(description="Its global rank.")
    pod: Name = Field(description="Its pod.")
    node: Name | None = Field(default=None, description="The node of that pod.")
    stage: Short | None = Field(
        default=None,
        description="How far it has come: spawned, joining, joined, sharded, wrapped, stepping, "
        "left, ended; absent while nothing was heard of it.",
    )
    since: datetime | None = Field(default=None, description="Since when it is at that stage.")
    line: Line | None = Field(
        default=None, description="The innermost line of the script that it stands at: train.py:12."
    )
    waits_in: Annotated[str, Field(max_length=128)] | None = Field(
        default=None, description="The collective that it is in: all_reduce, backward."
    )
    step: Count = Field(default=0, description="Its last step.")


class Found(Model):
    """One thing that is wrong with the training, and what to do about it."""

    type: Short = Field(description="What, in one stable word: Stalled, DataNotSharded.")
    ranks: Annotated[str, Field(max_length=256)] = Field(
        description="The guilty global ranks, as in 0,2-7."
    )
    message: Message = Field(description="What, where and what to do, in one sentence.")
    line: Line | None = Field(
        default=None, description="The line of the script that owns it: train.py:12."
    )
    since: datetime = Field(description="Since when it is told of these ranks.")


class Goodput(Model):
    """Where the job's time went, in seconds; they add up to the time since startTime.

    A suspended job's clock stands still.
    """

    queued_seconds: Seconds = Field(
        default=0, description="Pending: pods were not made yet or had no node."
    )
    starting_seconds: Seconds = Field(
        default=0, description="Starting: images, containers, ranks that join the group."
    )
    training_seconds: Seconds = Field(
        default=0, description="Running, but for what is stalled or lost."
    )
    stalled_seconds: Seconds = Field(
        default=0, description="Running while the condition Stalled was True."
    )
    lost_seconds: Seconds = Field(
        default=0,
        description="Restarting, with its back-off; and Running while a script that counts its "
        "own steps did those again that an earlier attempt had done.",
    )
    ratio: Short = Field(default="", description="trainingSeconds of all seconds: 87%.")
