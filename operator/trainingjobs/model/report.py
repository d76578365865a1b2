"""What one training process says of itself in one report: the wire format, bounded field by field.

A training pod may send anything. What does not fit here is refused as a whole; what fits is
still only a claim: which pod speaks is known from its token, never from its words.
All times are durations up to the moment of sending, so that no two clocks have to agree.
"""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from trainingjobs.model.base import Model
from trainingjobs.model.text import printable

VERSION = 1
MAX_BODY = 16_384
"""Bytes of one report."""
MAX_FRAMES = 24
MAX_METRICS = 16

Name = Annotated[str, Field(max_length=128), AfterValidator(printable)]
Place = Annotated[str, Field(max_length=300), AfterValidator(printable)]
"""`train.py:12`: a file of the user's and a line."""
Words = Annotated[str, Field(max_length=1024), AfterValidator(printable)]
Count = Annotated[int, Field(ge=0, le=2**53)]
Span = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
Number = Annotated[
    # JSON has no such numbers: they travel as words
    Annotated[float, Field(allow_inf_nan=True)] | Literal["NaN", "Infinity", "-Infinity"],
    AfterValidator(float),
]
Metric = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_./-]{0,62}$")]


class Stage(StrEnum):
    """How far a process has come; each stage is owned by one line of the user's script."""

    SPAWNED = "spawned"
    """It runs, and has not asked for the process group."""
    JOINING = "joining"
    """It is inside init_process_group."""
    JOINED = "joined"
    SHARDED = "sharded"
    """It has divided the data among the ranks."""
    WRAPPED = "wrapped"
    """It has wrapped the model."""
    STEPPING = "stepping"
    """At least one optimizer step is done."""
    LEFT = "left"
    """It has destroyed the process group."""
    ENDED = "ended"
    """The interpreter is on its way out."""


class Frame(Model):
    """One frame of the main thread's stack."""

    file: Place
    line: Count
    function: Name
    user: bool = False
    """True unless it belongs to the standard library or an installed package."""


class Lines(Model):
    """The lines of the user's script that own the stages, as `train.py:12`."""

    init: Place | None = None
    sampler: Place | None = None
    loader: Place | None = None
    wrap: Place | None = None
    step: Place | None = None
    destroy: Place | None = None


class Data(Model):
    """How the process divides its data, as far as DataLoader shows it."""

    sampler: Annotated[str, Field(pattern="^(distributed|custom|default|iterable)$")] | None = None
    """Of the loaders that were iterated: distributed if any is, else what the first has."""
    samples: Count | None = None
    """Samples that this process goes through in an epoch."""
    fingerprint: Name | None = None
    """Equal on two ranks whose data sets look the same, as far as can be seen cheaply."""
    shuffle: bool = False
    epochs: Count = 0
    """How often the loader with the distributed sampler was started."""
    epoch_set: bool = False
    """True once set_epoch was called."""


class Exchange(StrEnum):
    """What the processes have told each other while they stepped."""

    WRAPPED = "wrapped"
    NONE = "none"
    """Not one collective in the last steps."""
    LITTLE = "little"
    """Collectives much smaller than the model, such as a loss that is averaged."""
    MUCH = "much"
    """Collectives as large as the model: gradients averaged by hand, perhaps."""
    UNKNOWN = "unknown"


class Network(Model):
    """How the process's model is bound to the others'."""

    wrapper: Name | None = None
    """DistributedDataParallel, FullyShardedDataParallel, fully_shard …"""
    parameters: Count | None = None
    exchange: Exchange = Exchange.UNKNOWN


class Checksum(Model):
    """A digest of the parameters after a step; asked for by TRAININGJOB_CHECKSUM_STEPS."""

    step: Count
    value: Name


class Error(Model):
    """An exception that nobody caught."""

    type: Name
    message: Words = ""
    frame: Frame | None = None
    """The innermost frame of the user's."""


class Told(Model):
    """What the user's script told by `trainingjob.report`."""

    step: Count | None = None
    total: Count | None = None
    epoch: Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)] | None = None
    metrics: dict[Metric, Number] = Field(
        default={}, max_length=MAX_METRICS, json_schema_extra={"additionalProperties": False}
    )
    sharded: bool | None = None
    """The script says that it divides its data itself."""
    wrapped: bool | None = None
    """The script says that it keeps its replicas alike itself."""


class Report(Model):
    """One process at the moment of sending."""

    version: Annotated[int, Field(ge=1, le=VERSION)]
    process: Annotated[str, Field(pattern="^[A-Za-z0-9-]{1,64}$")]
    """Random, one for each life of a process."""
    number: Count | None = None
    """Of this report among all of its process; what overtook an earlier one is not undone by it."""
    pid: Count = 0
    parent: Count = 0
    launcher: bool = False
    """True for a process that starts ranks and is none: torchrun's agent."""
    rank: Annotated[int, Field(ge=0, le=10_000_000)] | None = None
    """Global rank, once the process knows it."""
    world_size: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    stage: Stage
    stage_seconds: Span = 0
    """Since it came to this stage."""
    steps: Count = 0
    """Optimizer steps of this process."""
    rate: Span = 0
    """Steps per second, lately."""
    quiet_seconds: Span = 0
    """Since the last sign of progress: a step, a batch, a `report` of the user's, a stage."""
    longest_quiet: Span = 0
    """The longest such silence that ended by itself."""
    cpu: Span = 0
    """CPU cores that it used, or waited for while others had them, since its last report."""
    io: Span = 0
    """Bytes per second that it read and wrote since its last report."""
    own_seconds: Span | None = None
    """Of each step, on average lately: from the end of the last one to backward."""
    data_seconds: Span | None = None
    """Of that, waiting for the data loader."""
    waits_in: Name | None = None
    """The collective that the main thread is in: all_reduce, backward, init_process_group …"""
    sequence: Count | None = None
    """Collectives that the process has begun, as its process group counts them."""
    frames: list[Frame] = Field(default=[], max_length=MAX_FRAMES)
    """The main thread's stack, the innermost frame first."""
    lines: Lines = Lines()
    data: Data = Data()
    model: Network = Network()
    device: Name | None = None
    """The accelerator that it uses, by its unique name."""
    checksum: Checksum | None = None
    error: Error | None = None
    destroyed: bool | None = None
    """At the end: whether destroy_process_group was called; null where there was no group."""
    told: Told = Told()


class Answer(Model):
    """What the operator answers to a report."""

    interval: Span
    """Seconds until the next report of this process."""
