"""Which scheduler places the group as a whole, and the object that tells it what the group is.

A scheduler that knows the group gives room to all of it or to none, so no part ever waits on
nodes for the rest. Where there is none, `placementTimeoutSeconds` breaks the tie.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from trainingjobs.model import names
from trainingjobs.model.gang import Gang
from trainingjobs.model.job import TrainingJob
from trainingjobs.model.spec import Manifest

VOLCANO_NOTE = "scheduling.k8s.io/group-name"
VOLCANO_QUEUE = "scheduling.volcano.sh/queue-name"
COSCHEDULING_LABEL = "scheduling.x-k8s.io/pod-group"
_DEFAULT = "default-scheduler"

_SCHEDULERS: Mapping[str, Gang] = MappingProxyType(
    {
        "volcano": Gang.VOLCANO,
        "scheduler-plugins-scheduler": Gang.COSCHEDULING,
        _DEFAULT: Gang.KUBERNETES,
    }
)
"""Schedulers under the names that their own installations give them."""


def asked(job: TrainingJob) -> Gang | None:
    """The pod group that the job's templates ask for; None where they do not agree on one."""
    templates = [job.spec.template, job.template(names.MASTER_RANK)]
    found = {_asked(template, names.pod_group(job.name)) for template in templates}
    return found.pop() if len(found) == 1 else None


def of(job: TrainingJob, served: frozenset[Gang]) -> Gang | None:
    """The pod group that the job gets; None where the cluster does not know such groups."""
    found = asked(job)
    return found if found in served else None


def missing(job: TrainingJob, served: frozenset[Gang]) -> Gang | None:
    """The pod group that the user asked for by name and that the cluster does not know."""
    found = asked(job)
    return None if found in {None, Gang.KUBERNETES, *served} else found


def members(job: TrainingJob) -> int:
    """How many pods have to find room together: an elastic group starts with fewer."""
    elastic = job.spec.elastic
    return job.size if elastic is None else min(elastic.min_instances, job.size)


def size(job: TrainingJob, gang: Gang) -> Manifest:
    """The part of a pod group's spec that follows the group's size."""
    count = members(job)
    if gang is Gang.KUBERNETES:
        return {"schedulingPolicy": {"gang": {"minCount": count}}}
    return {"minMember": count}


def spec(job: TrainingJob, gang: Gang) -> Manifest:
    """The spec of the job's pod group.

    Nothing in it changes while the job runs but its size.
    """
    priority = job.spec.template["spec"].get("priorityClassName")
    match gang:
        case Gang.VOLCANO:
            more = {"queue": _queue(job), "priorityClassName": priority}
        case Gang.COSCHEDULING:
            more = {}
        case Gang.KUBERNETES:
            # who takes one rank's node ends the whole attempt: let it count as one victim
            more = {"disruptionMode": {"all": {}}, "priorityClassName": priority}
    return size(job, gang) | {field: value for field, value in more.items() if value}


def marked(pod: Manifest, gang: Gang | None, group: str) -> Manifest:
    """The pod as a member of the group, in the words of its scheduler."""
    match gang:
        case None:
            return pod
        case Gang.VOLCANO:
            return _with(pod, "metadata", "annotations", {VOLCANO_NOTE: group})
        case Gang.COSCHEDULING:
            return _with(pod, "metadata", "labels", {COSCHEDULING_LABEL: group})
        case Gang.KUBERNETES:
            return _with(pod, "spec", "schedulingGroup", {"podGroupName": group})


def _with(pod: Manifest, part: str, field: str, more: Mapping[str, Any]) -> Manifest:
    return {**pod, part: {**pod[part], field: {**(pod[part].get(field) or {}), **more}}}


def _asked(template: Manifest, own: str) -> Gang | None:
    """What one template asks for; one that names a group of the user's own keeps that."""
    metadata, pod = template.get("metadata") or {}, template["spec"]
    labelled = (metadata.get("labels") or {}).get(COSCHEDULING_LABEL)
    if labelled == own:
        # coscheduling has no name of its own where it replaces the default scheduler
        return Gang.COSCHEDULING
    if labelled or VOLCANO_NOTE in (metadata.get("annotations") or {}):
        return None
    if pod.get("schedulingGroup"):
        return None
    name = pod.get("schedulerName") or _DEFAULT
    return _SCHEDULERS.get(name) if isinstance(name, str) else None


def _queue(job: TrainingJob) -> str | None:
    """The queue that the job's label names, or that Volcano's annotation on the template does."""
    notes = (job.spec.template.get("metadata") or {}).get("annotations") or {}
    return job.labels.get(VOLCANO_QUEUE) or notes.get(VOLCANO_QUEUE)
