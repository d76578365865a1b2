"""JobSet: one kind of pods, or a leader and the rest, become one group."""

from dataclasses import dataclass
from typing import Any

from trainingjobs.convert import mpi, pods, policy, traces
from trainingjobs.convert.group import Group
from trainingjobs.convert.pods import Pod
from trainingjobs.convert.source import BY_HAND, Source
from trainingjobs.model.limits import MAX_INSTANCES
from trainingjobs.model.spec import Framework, Manifest

LEADERS = ("leader", "master", "driver", "launcher", "coordinator", "head", "chief", "mpimaster")
_MOST_KINDS = 2
_TOGETHER = ("all pods start together", "let the script wait for what it needs")
TOLD = {
    "network": ("every pod has a name of its own", "use MASTER_ADDR and TRAININGJOB_WORKER_ADDR"),
    "startupPolicy": _TOGETHER,
    "coordinator": ("the master is the coordinator", "use MASTER_ADDR"),
    "volumeClaimPolicies": ("claims are not made", "make the claim, and mount it in the template"),
}
_TOLD_OF_ONE = {
    "dependsOn": _TOGETHER,
    "groupName": ("there is one group", "leave it out"),
}
_ALONE = ("one rank is never restarted alone", "see spec.maxRestarts")
_TOLD_OF_JOB = {
    "backoffLimitPerIndex": _ALONE,
    "maxFailedIndexes": ("any rank's failure ends the attempt", "see spec.maxRestarts"),
    "podFailurePolicy": ("rules are by exit code alone", "write spec.failureRules"),
    "successPolicy": ("the group succeeds as a whole", "see spec.successPolicy"),
    "activeDeadlineSeconds": ("one deadline counts for all", "set spec.activeDeadlineSeconds"),
    "ttlSecondsAfterFinished": ("pods go with the job", "set spec.ttlSecondsAfterFinished"),
    "podReplacementPolicy": ("old pods are always waited for", "leave it out"),
    "suspend": ("the job is suspended as a whole", "set spec.suspend"),
    "managedBy": ("the job has one controller", "set spec.managedBy"),
}


@dataclass(frozen=True, slots=True)
class Part:
    """Pods of one kind."""

    name: str
    count: int
    pod: Pod
    source: Source


def group(job: Source) -> Group:
    """The group that the JobSet describes."""
    spec = job.child("spec")
    found = _without_helper(spec, parts(spec))
    leader, rest = led(spec, found, "replicatedJobs")
    fields = {
        **_failures(spec.child("failurePolicy")),
        **_success(spec.child("successPolicy"), leader, found),
        **policy.present(
            {
                "suspend": spec.flag("suspend") or None,
                "ttlSecondsAfterFinished": spec.number("ttlSecondsAfterFinished"),
                "managedBy": policy.managed_by(spec),
            }
        ),
    }
    spec.told(TOLD)
    spec.close()
    return grouped(spec, leader, rest, fields)


def parts(spec: Source, names: tuple[str, ...] = ()) -> list[Part]:
    """The replicated jobs that have pods.

    Args:
        spec: a JobSet's.
        names: what the training container may be called.
    """
    found = [_part(item, names) for item in spec.children("replicatedJobs")]
    there = [item for item in found if item.count]
    if not there:
        raise spec.refusal("replicatedJobs", "no pod is there")
    return there


def _without_helper(spec: Source, found: list[Part]) -> list[Part]:
    """The pods without the one that is no rank: the others are coordinated, and waited for."""
    coordinates = spec.peek("coordinator", "replicatedJob")
    targets = spec.peek("successPolicy", "targetReplicatedJobs")
    single = [item for item in found if item.count == 1]
    if len(found) != _MOST_KINDS or len(single) != 1:
        return found
    (helper,), rest = single, [item for item in found if item.count > 1]
    group = [item.name for item in rest]
    if coordinates not in group and (targets != group or helper.name in LEADERS):
        return found
    spec.note(
        f"replicatedJobs.{helper.name}",
        "it is no part of the group, which neither meets at it nor waits for it",
        "make it a job of its own",
    )
    return rest


def led(
    spec: Source, found: list[Part], field: str, first: str | None = None
) -> tuple[Part | None, Part]:
    """The leader, if there is one, and the pods that are all alike.

    Args:
        spec: where they are.
        found: all kinds of pods.
        field: of the spec, that has them.
        first: what the leader is called, where that is said.
    """
    if len(found) == 1:
        return None, found[0]
    single = [item for item in found if item.count == 1]
    single.sort(key=lambda item: (item.name != first, item.name not in LEADERS))
    if len(found) > _MOST_KINDS or not single:
        kinds = ", ".join(f"{item.name} ({item.count})" for item in found)
        raise spec.refusal(field, f"a group is one leader and pods that are alike, and not {kinds}")
    if single[0].name not in {first, *LEADERS}:
        spec.note(
            f"{field}.{single[0].name}",
            "it was taken for the leader, rank 0, since there is one of it",
            "if it is no rank, make it a job of its own, and one instance fewer here",
        )
    return single[0], next(item for item in found if item is not single[0])


def grouped(spec: Source, leader: Part | None, rest: Part, fields: Manifest) -> Group:
    """The group of these pods; the framework is guessed from what they run."""
    template = rest.pod.template
    guess = traces.framework(template, leader.pod.template if leader else None)
    tell_guess(spec, "replicatedJobs", guess)
    if leader is None or guess is Framework.MPI:
        merged = mpi.launched(leader.source, leader.pod, rest.pod) if leader else template
        return Group(
            framework=guess or Framework.NONE,
            instances=rest.count,
            template=merged,
            fields=fields,
        )
    return Group(
        framework=guess or Framework.NONE,
        instances=rest.count + 1,
        template=template,
        master=leader.pod.template,
        fields=fields,
    )


def tell_guess(spec: Source, field: str, guess: Framework | None) -> None:
    """Tell how the framework was come to."""
    why = (
        "no word of a framework was found: None gives ranks and addresses alone"
        if guess is None
        else f"the framework was guessed from what the pods run: {guess.value}"
    )
    spec.note(field, why, "set spec.framework if it is another")


def _part(item: Source, names: tuple[str, ...]) -> Part:
    name = item.text("name") or ""
    replicas = item.number("replicas", most=MAX_INSTANCES)
    item.told(_TOLD_OF_ONE)
    holder = item.child("template")
    holder.told({"metadata": ("there are no Jobs between", "label the pods or the TrainingJob")})
    job = holder.child("spec")
    holder.close()
    item.close()
    parallel = job.number("parallelism", most=MAX_INSTANCES)
    _completions(job, 1 if parallel is None else parallel)
    pod = pods.converted(job.child("template"), names)
    job.close()
    many = (1 if replicas is None else replicas) * (1 if parallel is None else parallel)
    return Part(name, many, pod, item)


def _completions(job: Source, parallel: int) -> None:
    done = job.number("completions")
    if done not in {None, parallel}:
        job.note("completions", "each pod ends once", f"the group has {parallel}, the parallelism")
    job.take("completionMode")
    if job.take("backoffLimit"):
        job.note("backoffLimit", *_ALONE)
    job.told(_TOLD_OF_JOB)


def _failures(failure: Source) -> Manifest:
    most = failure.number("maxRestarts", most=policy.MAX_RESTARTS)
    failure.told(
        {
            "rules": ("rules are by exit code alone", "write spec.failureRules"),
            "restartStrategy": ("the group restarts as one, when its old pods are gone", BY_HAND),
        }
    )
    failure.close()
    return policy.present({"maxRestarts": most})


def _success(success: Source, leader: Part | None, found: list[Part]) -> Manifest:
    operator, targets = success.text("operator"), success.take("targetReplicatedJobs")
    success.close()
    named: list[Any] = targets if isinstance(targets, list) else []
    if leader is not None and named == [leader.name]:
        return {"successPolicy": "Master"}
    everyone = not named or all(item.name in named for item in found)
    if operator not in {None, "All"} or not everyone:
        success.note("operator", "the group succeeds as a whole", "or set successPolicy: Master")
    return {}
