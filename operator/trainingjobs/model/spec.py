"""What a user may ask for: the one source of the resource's schema, bounds and defaults.

`make generate` turns these models into `crds/trainingjob.yaml`; each description here is
what `kubectl explain trainingjob.spec` shows.
"""

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field

from trainingjobs.model.base import Model
from trainingjobs.model.limits import MAX_INSTANCES

MAX_SECONDS = 2**31 - 1

Manifest = dict[str, Any]
Seconds = Annotated[int, Field(ge=0, le=MAX_SECONDS)]
PositiveSeconds = Annotated[int, Field(ge=1, le=MAX_SECONDS)]
Instances = Annotated[int, Field(ge=1, le=MAX_INSTANCES)]


class Framework(StrEnum):
    """Whose environment variables the instances get."""

    PYTORCH = "PyTorch"
    TENSORFLOW = "TensorFlow"
    JAX = "JAX"
    MPI = "MPI"
    HOROVOD = "Horovod"
    NONE = "None"


class SuccessPolicy(StrEnum):
    """When the job has succeeded."""

    ALL_INSTANCES = "AllInstances"
    MASTER = "Master"


class CleanPodPolicy(StrEnum):
    """Which pods go when the job ends."""

    RUNNING = "Running"
    ALL = "All"
    NONE = "None"


class FailureAction(StrEnum):
    """What a failure with a listed exit code leads to."""

    FAIL = "Fail"
    RESTART = "Restart"
    IGNORE = "Ignore"


class OnStall(StrEnum):
    """What a stalled group leads to."""

    REPORT = "Report"
    RESTART = "Restart"


class RollCall(StrEnum):
    """Whether the reporter is put into the pods."""

    ENABLED = "Enabled"
    DISABLED = "Disabled"


class Moment(StrEnum):
    """When somebody outside of the cluster is told."""

    FINISHED = "Finished"
    STALLED = "Stalled"


class NotifyFormat(StrEnum):
    """What is sent."""

    SLACK = "Slack"
    JSON = "JSON"


class Notify(Model):
    """Who is told of a job outside of the cluster, and when."""

    secret_name: Annotated[
        str, Field(max_length=253, pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")
    ] = Field(
        description="A Secret of the job's namespace, which the operator must be allowed to get."
    )
    secret_key: Annotated[str, Field(max_length=253, pattern=r"^[-._a-zA-Z0-9]+$")] = Field(
        default="url", description="The key whose value is the https address to POST to."
    )
    when: list[Moment] = Field(
        default=[Moment.FINISHED, Moment.STALLED],
        min_length=1,
        max_length=2,
        description="Finished: the job has succeeded or failed; Stalled: once for each attempt.",
    )
    format: NotifyFormat = Field(
        default=NotifyFormat.SLACK,
        description="Slack sends a text, which many services take; JSON sends fields.",
    )


class FailureRule(Model):
    """One answer to a set of exit codes; the first rule that lists the code decides."""

    exit_codes: list[Annotated[int, Field(ge=1, le=255)]] = Field(
        min_length=1, max_length=255, description="Exit codes of the training container."
    )
    action: FailureAction = Field(
        description="Fail ends the job, Restart restarts the group and charges maxRestarts, "
        "Ignore restarts the group without charging it, and without limit."
    )


class Elastic(Model):
    """Between which sizes the group may shrink and grow."""

    min_instances: Instances = Field(description="The smallest group that goes on training.")
    max_instances: Instances = Field(description="The largest group that is ever made.")


class Spec(Model):
    """What the user asks for."""

    parallel_instances: Instances = Field(
        alias="PARALLEL_INSTANCES",
        description="How many pods train together: one master (rank 0) and the rest workers.",
    )
    framework: Framework = Field(
        default=Framework.PYTORCH,
        description="Whose environment variables the instances get: PyTorch (also torchrun), "
        "TensorFlow (TF_CONFIG), JAX, MPI and Horovod (the master's command starts the ranks of "
        "all instances), or None (ranks and addresses alone, for any program).",
    )
    template: Manifest = Field(
        description="Pod template of every instance. The training container is the one named "
        "trainer, else the first."
    )
    master_template: Manifest | None = Field(
        default=None, description="Pod template of the master alone; the default is template."
    )
    processes_per_instance: Annotated[int, Field(ge=1, le=1024)] | Literal["auto"] = Field(
        default=1,
        description="Training processes in each instance: an integer, or auto for one per GPU "
        "of the container's limit, else one per CPU of it, else 1.",
    )
    port: Annotated[int, Field(ge=1024, le=65535)] = Field(
        default=29500, description="Rendezvous port of the master."
    )
    max_restarts: Annotated[int, Field(ge=0, le=10_000)] = Field(
        default=3,
        description="Restarts of the whole group after failures of the program; what the cluster "
        "takes (evictions, deletions, lost nodes) is restarted free of charge.",
    )
    failure_rules: list[FailureRule] = Field(
        default=[],
        max_length=20,
        description="What certain exit codes lead to; the first rule that lists the code decides.",
    )
    success_policy: SuccessPolicy = Field(
        default=SuccessPolicy.ALL_INSTANCES,
        description="The job succeeds when all instances did, or when the Master did; with MPI and "
        "Horovod always when the Master did.",
    )
    clean_pod_policy: CleanPodPolicy = Field(
        default=CleanPodPolicy.RUNNING,
        description="Which pods are deleted when the job ends: those still Running, All or None.",
    )
    active_deadline_seconds: PositiveSeconds | None = Field(
        default=None, description="The job fails when it is not finished this long after its start."
    )
    ttl_seconds_after_finished: Seconds | None = Field(
        default=None, description="The job is deleted this long after it finished."
    )
    suspend: bool = Field(
        default=False, description="True stops all pods and starts none; false lets the job go on."
    )
    managed_by: Annotated[str, Field(max_length=63)] | None = Field(
        default=None,
        description="Who reconciles the job; any value but trainingjob.dev/operator makes this "
        "operator leave it alone.",
    )
    placement_timeout_seconds: PositiveSeconds = Field(
        default=120,
        description="A group of which only a part can be created or scheduled is released after "
        "this and tried again with back-off.",
    )
    startup_timeout_seconds: PositiveSeconds | None = Field(
        default=None,
        description="The job fails when the instances of an attempt do not all run this long after "
        "its start; a release for lack of room does not count anew.",
    )
    stall_timeout_seconds: PositiveSeconds = Field(
        default=300,
        description="The job counts as stalled when no rank makes a step for this long, or for "
        "twice the longest pause of this attempt that ended by itself, if that is longer.",
    )
    on_stall: OnStall = Field(
        default=OnStall.REPORT,
        description="What a stall leads to: Report sets the Stalled condition; Restart also keeps "
        "the stacks of all ranks in a ConfigMap, restarts the group and charges maxRestarts.",
    )
    elastic: Elastic | None = Field(
        default=None,
        description="Lets the group be scaled while it runs (kubectl scale), and go on as a "
        "smaller one where only a part finds room, within these sizes.",
    )
    notify: Notify | None = Field(
        default=None,
        description="Tells somebody outside of the cluster when the job finishes or stalls; the "
        "operator has to be installed with notify.enabled.",
    )
    roll_call: RollCall = Field(
        default=RollCall.ENABLED,
        description="Enabled puts a reporter into the training container (a read-only volume at "
        "/run/trainingjob, first on PYTHONPATH), which tells the operator where each rank stands; "
        "Disabled puts nothing of ours into the pods.",
    )
