"""What happens to a job's pod group: made before the first pod, gone when the job ends or rests.

It stays through restarts, so that each attempt is placed as a whole like the first. Once all
pods have their nodes it has no more to say, and is not made again where somebody deleted it.
"""

from trainingjobs.model.gang import Gang, GroupSeen
from trainingjobs.model.spec import Manifest
from trainingjobs.model.verdict import Step, Verdict
from trainingjobs.plan import gang, manifests
from trainingjobs.plan.case import Case

MISSING = "PodGroupsMissing"
_KEEPS = frozenset({Step.RUN, Step.WAIT, Step.RESTART})


def unserved(case: Case) -> Verdict | None:
    """A group whose scheduler this cluster does not know is not started: nobody would place it."""
    lacking = gang.missing(case.job, case.seen.served)
    if lacking is None or case.pods or case.done:
        return None
    words = (
        f"the template asks for a scheduler that needs PodGroups of {lacking}, which this cluster "
        f"does not have: install that scheduler, or take it out of the template"
    )
    return Verdict(step=Step.WAIT, reason=MISSING, message=words)


def created(case: Case) -> tuple[Manifest, ...]:
    """The pod group, where pods that have no node yet need it."""
    wanted = gang.of(case.job, case.seen.served)
    if wanted is None or _there(case, wanted) or not _unplaced(case):
        return ()
    return (manifests.pod_group(case.job, wanted),)


def changed(case: Case) -> tuple[Manifest, ...]:
    """The pod group, where it is there with another size than the job has now."""
    wanted = gang.of(case.job, case.seen.served)
    found = _there(case, wanted) if wanted else None
    if wanted is None or found is None or found.members == gang.members(case.job):
        return ()
    made = manifests.pod_group(case.job, wanted)
    return (manifests.patch(found, made, gang.size(case.job, wanted)),)


def unwanted(case: Case, step: Step) -> tuple[GroupSeen, ...]:
    """Pod groups that have to go: all, or those of a scheduler that is not the job's any more."""
    wanted = gang.of(case.job, case.seen.served) if step in _KEEPS else None
    return tuple(group for group in case.seen.groups if group.gang is not wanted)


def _there(case: Case, wanted: Gang) -> GroupSeen | None:
    return next((group for group in case.seen.groups if group.gang is wanted), None)


def _unplaced(case: Case) -> bool:
    """True when a rank has no pod yet, or its pod has no node."""
    if len(case.done | case.pods.keys()) < case.job.size:
        return True
    return any(not pod.scheduled and not pod.ended for pod in case.pods.values())
