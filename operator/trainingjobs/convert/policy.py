"""What jobs of Kubeflow say of their life: restarts, limits, clean-up, queue, size."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from trainingjobs.convert.source import Source
from trainingjobs.model.spec import CleanPodPolicy, Manifest

QUEUE = "scheduling.volcano.sh/queue-name"
PERMANENT = range(1, 128)
"""Exit codes after which the restart policy ExitCode gives a replica up."""
MAX_RESTARTS: Final = 10_000
PROCESSES = range(1, 1025)
_DIGITS = 4
_OWN_CONTROLLERS = (
    "kubeflow.org/training-operator",
    "kubeflow.org/mpi-operator",
    "trainer.kubeflow.org/trainjob-controller",
    "jobset.sigs.k8s.io/jobset-controller",
)
_SCHEDULING = {
    "minAvailable": (
        "the group is placed as a whole",
        "set spec.elastic.minInstances if fewer may start",
    ),
    "minResources": ("the scheduler counts them itself", "leave it out"),
    "scheduleTimeoutSeconds": (
        "how long a group may wait for room is said otherwise",
        "see spec.placementTimeoutSeconds and spec.startupTimeoutSeconds",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Fields of the spec, and what goes elsewhere."""

    fields: Manifest
    labels: dict[str, str]
    priority: str | None
    """The priority class of all pods."""
    backoff_limit: int | None


def run_policy(policy: Source) -> Policy:
    """What `runPolicy` says."""
    queue, priority = _scheduling(policy.child("schedulingPolicy"))
    fields = {
        "cleanPodPolicy": clean_pods(policy),
        "activeDeadlineSeconds": policy.number("activeDeadlineSeconds", least=1),
        "ttlSecondsAfterFinished": policy.number("ttlSecondsAfterFinished"),
        "suspend": policy.flag("suspend") or None,
        "managedBy": managed_by(policy),
    }
    limit = policy.number("backoffLimit", most=MAX_RESTARTS)
    policy.close()
    return Policy(
        fields=present(fields),
        labels={QUEUE: queue} if queue else {},
        priority=priority,
        backoff_limit=limit,
    )


def clean_pods(holder: Source) -> str | None:
    """The clean-up policy, which has the same three words here."""
    found = holder.text("cleanPodPolicy")
    if found is None or found in set(CleanPodPolicy):
        return found
    raise holder.refusal("cleanPodPolicy", "must be Running, All or None")


def managed_by(holder: Source) -> str | None:
    """Another controller than the job's own, as of Kueue's MultiKueue."""
    found = holder.text("managedBy")
    if found is None or found in _OWN_CONTROLLERS:
        return None
    holder.note(
        "managedBy", f"{found} was kept, and the operator leaves the job alone", "remove it"
    )
    return found


def restarts(
    replicas: Sequence[Source], limit: int | None, *, never_ends_it: bool = True
) -> Manifest:
    """The budget of the group, from the restart policies of its replicas.

    Args:
        replicas: whose policies count.
        limit: the job's limit.
        never_ends_it: whether the policy Never makes the first failure the last.
    """
    policies = [_policy(item) for item in replicas]
    said = [item for item in policies if item]
    if len(set(said)) > 1:
        replicas[0].note(
            "restartPolicy", "the replicas' policies differ", "the group restarts as a whole"
        )
    if said and set(said) == {"Never"} and never_ends_it:
        return {"maxRestarts": 0}
    if limit is None and {"OnFailure", "Always"} & set(said):
        replicas[0].note(
            "restartPolicy",
            "without a backoffLimit it restarts without end",
            "spec.maxRestarts has its default, 3",
        )
    rules = [{"exitCodes": list(PERMANENT), "action": "Fail"}] if "ExitCode" in said else None
    return present({"maxRestarts": limit, "failureRules": rules})


def _policy(replica: Source) -> str | None:
    found = replica.text("restartPolicy")
    if found not in {None, "Never", "OnFailure", "Always", "ExitCode"}:
        raise replica.refusal("restartPolicy", "must be Never, OnFailure, Always or ExitCode")
    return found


def _scheduling(policy: Source) -> tuple[str | None, str | None]:
    queue, priority = policy.text("queue"), policy.text("priorityClass")
    policy.told(_SCHEDULING)
    policy.close()
    if queue:
        policy.note(
            "queue",
            f"it became the label {QUEUE}",
            "set schedulerName: volcano in the template, if it is not there",
        )
    return queue, priority


def processes(holder: Source, name: str, wanted: Any) -> int | str | None:
    """Processes in each instance: a number, also as text, or `auto`.

    Args:
        holder: where the field is.
        name: the field.
        wanted: its value.
    """
    if wanted is None:
        return None
    text = str(wanted)
    if text in {"cpu", "gpu"}:
        holder.note(name, f"{text} is not told apart", "auto counts GPUs, and CPUs where none are")
    if text in {"auto", "cpu", "gpu"}:
        return "auto"
    if text.isascii() and text.isdigit() and len(text) <= _DIGITS and int(text) in PROCESSES:
        return int(text)
    raise holder.refusal(name, f"must be auto or a number from 1 to {PROCESSES.stop - 1}")


def prioritised(template: Manifest, priority: str | None) -> Manifest:
    """The template with a priority class, unless it has one."""
    spec = template["spec"]
    if priority is None or spec.get("priorityClassName"):
        return template
    return {**template, "spec": {**spec, "priorityClassName": priority}}


def present(fields: Mapping[str, Any]) -> Manifest:
    """The fields that have a value."""
    return {name: value for name, value in fields.items() if value is not None}
