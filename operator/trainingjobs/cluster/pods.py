"""From a pod as the API server tells it to the few facts that decisions rest on.

Everything odd about pods ends here: sidecars that webhooks put first, init containers
that fail, kubelets that refuse a pod before a container exists, and evictions that are
told in three different places.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from trainingjobs.cluster.words import last_lines
from trainingjobs.model import labels
from trainingjobs.model.observed import Exit, PodSeen, Waiting
from trainingjobs.model.text import cut
from trainingjobs.model.times import parse_time

Raw = Mapping[str, Any]

_USUAL_WAITS = frozenset({"", "ContainerCreating", "PodInitializing"})
_RESTARTS = frozenset({"Restart", "RestartAllContainers"})
_DISRUPTIONS = frozenset(
    {
        "Evicted",
        "NodeAffinity",
        "NodeLost",
        "NodeShutdown",
        "Preempting",
        "Preempted",
        "Shutdown",
        "Terminated",
        "TopologyAffinityError",
        "UnexpectedAdmissionError",
    }
)
_RESOURCE_REFUSED = "OutOf"
_OWN_DEADLINE = "DeadlineExceeded"
_LONGEST_REASON = 128


def owner(manifest: Raw) -> Raw | None:
    """The controller reference to a TrainingJob, where the object has one."""
    for reference in manifest["metadata"].get("ownerReferences") or ():
        if reference.get("controller") and reference.get("kind") == labels.KIND:
            group = str(reference.get("apiVersion", "")).partition("/")[0]
            return reference if group == labels.GROUP else None
    return None


def seen(manifest: Raw) -> PodSeen | None:
    """The pod as decisions see it; None when it is no rank of a TrainingJob."""
    metadata, spec = manifest["metadata"], manifest.get("spec") or {}
    rank, attempt = (_number(metadata, key) for key in (labels.RANK, labels.ATTEMPT))
    if owner(manifest) is None or rank is None or attempt is None:
        return None
    status = manifest.get("status") or {}
    main = _main_state(manifest, status)
    phase = status.get("phase") or "Pending"
    return PodSeen(
        name=metadata["name"],
        uid=metadata["uid"],
        rank=rank,
        attempt=attempt,
        phase=phase,
        node=spec.get("nodeName"),
        scheduled=bool(spec.get("nodeName")) or _condition(status, "PodScheduled", "True") != {},
        running=phase == "Running" and "running" in main,
        exit=_exit(manifest, status, main),
        lingers="terminated" in main and _others_run(status),
        waiting=_waiting(status, main),
        unschedulable=_unschedulable(status),
        deletion_requested=_deletion_requested(metadata),
        deletion_due=parse_time(metadata.get("deletionTimestamp")),
        disruption=_disruption(status),
        beside=_beside(manifest),
    )


def _number(metadata: Raw, label: str) -> int | None:
    text = (metadata.get("labels") or {}).get(label, "")
    return int(text) if text.isascii() and text.isdigit() else None


def _main_name(manifest: Raw) -> str:
    """The container that trains: webhooks may have put others before it."""
    names: list[str] = [container["name"] for container in manifest["spec"]["containers"]]
    noted = (manifest["metadata"].get("annotations") or {}).get(labels.CONTAINER)
    candidates = (noted, labels.TRAINER, *names)
    return next(name for name in candidates if name in names)


def _beside(manifest: Raw) -> tuple[str, ...]:
    """The others that run with it: sidecars of the user's, and those that webhooks put in."""
    spec = manifest["spec"]
    helpers = (it for it in spec.get("initContainers") or () if it.get("restartPolicy") == "Always")
    names = [it["name"] for it in (*spec["containers"], *helpers)]
    # nearly all pods have none: then nothing is kept
    return tuple(name for name in names if name != _main_name(manifest)) if names[1:] else ()


def _main_state(manifest: Raw, status: Raw) -> Raw:
    name = _main_name(manifest)
    for item in status.get("containerStatuses") or ():
        if item.get("name") == name:
            state: Raw = item.get("state") or {}
            return state
    return {}


def _others_run(status: Raw) -> bool:
    """True while a sidecar runs; a pod whose containers have all ended is about to be over.

    The kubelet tells of a container's end before it tells of the pod's.
    """
    states = [it.get("state") or {} for it in status.get("containerStatuses") or ()]
    return any("terminated" not in state for state in states)


def _exit(manifest: Raw, status: Raw, main: Raw) -> Exit | None:
    spec = manifest["spec"]
    # nothing is started again in a pod that is over, or that is to go
    last = status.get("phase") in {"Succeeded", "Failed"} or _is_deleted(manifest)
    if "terminated" in main:
        trains = _of_name(spec["containers"], _main_name(manifest))
        if last or not _is_restarted(spec, trains, main["terminated"]):
            return _ended(main["terminated"])
    for item in status.get("initContainerStatuses") or ():
        ended = (item.get("state") or {}).get("terminated") or {}
        prepares = _of_name(spec.get("initContainers") or (), item.get("name"))
        failed = ended.get("exitCode", 0) != 0
        if failed and (last or not _is_restarted(spec, prepares, ended)):
            return _ended(ended, "Init:")
    return None


def _is_deleted(manifest: Raw) -> bool:
    return "deletionTimestamp" in manifest["metadata"]


def _of_name(containers: Iterable[Raw], name: str | None) -> Raw:
    return next((it for it in containers if it.get("name") == name), {})


def _is_restarted(spec: Raw, container: Raw, ended: Raw) -> bool:
    """True when the kubelet starts the container again in its pod: the first rule that fits.

    As in `ContainerShouldRestart` of Kubernetes' pkg/api/v1/pod.
    """
    code, own = ended.get("exitCode", 0), container.get("restartPolicy")
    rules = container.get("restartPolicyRules") or () if own else ()
    rule: Raw = next((it for it in rules if _fits(it.get("exitCodes") or {}, code)), {})
    if rule.get("action") in _RESTARTS:
        return True
    policy = own or spec.get("restartPolicy") or "Never"
    return policy == "Always" or (policy == "OnFailure" and code != 0)


def _fits(codes: Raw, code: int) -> bool:
    listed = code in (codes.get("values") or ())
    return {"In": listed, "NotIn": not listed}.get(codes.get("operator", ""), False)


def _ended(terminated: Raw, prefix: str = "") -> Exit:
    code = terminated.get("exitCode", 0)
    reason = _word(terminated) or ("Completed" if code == 0 else "Error")
    return Exit(
        code=code,
        reason=prefix + reason,
        message=last_lines(terminated.get("message")),
        finished=parse_time(terminated.get("finishedAt")),
    )


def _waiting(status: Raw, main: Raw) -> Waiting | None:
    states = [it.get("state") or {} for it in status.get("initContainerStatuses") or ()]
    for state in [*states, main]:
        waiting = state.get("waiting") or {}
        reason = _word(waiting)
        if reason not in _USUAL_WAITS:
            return Waiting(reason=reason, message=last_lines(waiting.get("message")))
    return None


def _unschedulable(status: Raw) -> str | None:
    condition = _condition(status, "PodScheduled", "False")
    if not condition:
        return None
    return last_lines(condition.get("message")) or _word(condition) or "Unschedulable"


def _condition(status: Raw, kind: str, value: str) -> Raw:
    for condition in status.get("conditions") or ():
        if condition.get("type") == kind and condition.get("status") == value:
            found: Raw = condition
            return found
    return {}


def _word(told: Raw) -> str:
    """The reason that is told; whoever may write the status of a pod may write anything there."""
    return cut(told.get("reason") or "", _LONGEST_REASON)


def _deletion_requested(metadata: Raw) -> datetime | None:
    """When somebody asked for the deletion: the timestamp is when its grace is over."""
    deadline = parse_time(metadata.get("deletionTimestamp"))
    grace = metadata.get("deletionGracePeriodSeconds") or 0
    return None if deadline is None else deadline - timedelta(seconds=grace)


def _disruption(status: Raw) -> str | None:
    target = _condition(status, "DisruptionTarget", "True")
    if target:
        return _word(target) or "DisruptionTarget"
    reason = _word(status)
    if reason in _DISRUPTIONS or reason.startswith(_RESOURCE_REFUSED):
        return reason
    # a kubelet that refuses a pod fails it before any container has a status
    refused = status.get("phase") == "Failed" and not _has_statuses(status)
    return reason if refused and reason not in {"", _OWN_DEADLINE} else None


def _has_statuses(status: Raw) -> bool:
    return any(status.get(f"{kind}Statuses") for kind in ("container", "initContainer"))
