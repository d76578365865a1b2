"""The whole status of a job, from what is seen and what was decided: derived each time anew.

Only counters, times and recorded outcomes come from the old status (`moves`); everything
else is said from what is seen now.
"""

from dataclasses import replace
from datetime import datetime

from trainingjobs.model import labels, names
from trainingjobs.model.job import TrainingJob
from trainingjobs.model.observed import Observed
from trainingjobs.model.spec import CleanPodPolicy
from trainingjobs.model.status import Condition, Phase, Status
from trainingjobs.model.verdict import Step, Verdict
from trainingjobs.status import conditions, moves, sentences
from trainingjobs.status.sentences import Block
from trainingjobs.status.standing import Standing, standing, succeeded_ranks

ALL_RUN = "AllInstancesRunning"
ALL_CREATED = "AllPodsCreated"


def report(job: TrainingJob, seen: Observed, verdict: Verdict, now: datetime) -> Status:
    """What the resource is to say; `now` is told in whole seconds."""
    now = now.replace(microsecond=0)
    moved = moves.moved(job, verdict, now)
    size = replace(job, status=moved).size
    place = standing(size, _left(job, seen, verdict), moved.attempt, succeeded_ranks(moved))
    phase = _phase(moved, verdict, place)
    block = _steady(job.status, phase, _block(seen, verdict, place, phase))
    return moved.model_copy(
        update={
            "observed_generation": job.generation,
            "phase": phase,
            "message": block.message,
            "ready": f"{place.ready}/{size}",
            "instances": place.counts,
            "running_time": moved.running_time or (now if phase is Phase.RUNNING else None),
            "partial_since": _partial_since(moved, verdict, place, now),
            "placement_timeouts": 0 if place.scheduled else moved.placement_timeouts,
            "replicas": sum(not pod.terminating for pod in place.pods.values()),
            "selector": labels.selector(job.uid),
            "master_address": f"{names.pod(job.name, 0)}.{names.service(job.name)}:{job.spec.port}",
            "conditions": _conditions(job, place, phase, block, now),
        }
    )


def _partial_since(
    status: Status, verdict: Verdict, place: Standing, now: datetime
) -> datetime | None:
    waits = verdict.step is Step.RUN and place.partial
    return (status.partial_since or now) if waits else None


def _left(job: TrainingJob, seen: Observed, verdict: Verdict) -> Observed:
    """What the last word of a job speaks of: pods that its end takes away do not count."""
    over = verdict.step in {Step.SUCCEED, Step.FAIL}
    if not over or job.spec.clean_pod_policy is CleanPodPolicy.NONE:
        return seen
    return replace(seen, pods=tuple(pod for pod in seen.pods if pod.ended))


def noted(job: TrainingJob) -> Status:
    """The status of a finished job: all that changes is which generation it speaks of.

    `kubectl wait` passes over a condition that speaks of an older spec than there is.
    """
    facts = _numbered(job, job.status.conditions)
    return job.status.model_copy(
        update={"observed_generation": job.generation, "conditions": facts}
    )


def _phase(status: Status, verdict: Verdict, place: Standing) -> Phase:
    if verdict.step in moves.FINAL:
        return moves.FINAL[verdict.step]
    if place.complete:
        return Phase.RUNNING
    if moves.is_restart(status) and not place.created:
        return Phase.RESTARTING
    return Phase.STARTING if place.scheduled else Phase.PENDING


def _block(seen: Observed, verdict: Verdict, place: Standing, phase: Phase) -> Block:
    """Why the job is where it is: the verdict's reason, a refusal, a wait, or nothing at all."""
    if verdict.step is not Step.RUN:
        return Block(reason=verdict.reason, message=verdict.message)
    if seen.problems:
        first = seen.problems[0]
        said = sentences.problem(first, place.size - place.counts.missing, place.size)
        return Block(reason=first.trouble.value, message=said)
    if place.complete:
        return Block(reason=ALL_RUN, message="")
    return sentences.waiting(place.pods) or Block(reason=phase.value, message="")


def _steady(old: Status, phase: Phase, block: Block) -> Block:
    """A failed pull and the pause after it say the same in turn: the first words stay."""
    running = next((item for item in old.conditions if item.type == conditions.RUNNING), None)
    same = running is not None and running.reason == block.reason and old.phase is phase
    if same and block.reason == sentences.IMAGE:
        return Block(reason=block.reason, message=old.message)
    return block


def _conditions(
    job: TrainingJob, place: Standing, phase: Phase, block: Block, now: datetime
) -> list[Condition]:
    told = conditions.of_phase(phase, block.reason, block.message, now)
    if phase not in {Phase.SUCCEEDED, Phase.FAILED}:
        told.insert(0, _created(place, block, now))
    return _numbered(job, conditions.merged(job.status.conditions, told))


def _numbered(job: TrainingJob, facts: list[Condition]) -> list[Condition]:
    return [item.model_copy(update={"observed_generation": job.generation}) for item in facts]


def _created(place: Standing, block: Block, now: datetime) -> Condition:
    if place.created:
        return Condition(
            type=conditions.CREATED, status="True", reason=ALL_CREATED, last_transition_time=now
        )
    return Condition(
        type=conditions.CREATED,
        status="False",
        reason=block.reason,
        message=block.message,
        last_transition_time=now,
    )
