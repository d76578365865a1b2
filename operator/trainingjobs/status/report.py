"""The whole status of a job, from what is seen and what was decided: derived each time anew.

Only counters, times and recorded outcomes come from the old status (`moves`), and what the roll
call said of an attempt while nothing new is heard; everything else is said from what is seen now.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any

from trainingjobs.model import labels, names
from trainingjobs.model.finding import Diagnosis, Kind
from trainingjobs.model.job import TrainingJob
from trainingjobs.model.observed import Observed, Trouble
from trainingjobs.model.report import Stage
from trainingjobs.model.spec import CleanPodPolicy
from trainingjobs.model.status import Condition, Phase, Status
from trainingjobs.model.verdict import Step, Verdict
from trainingjobs.status import conditions, goodput, headway, moves, rollcall, sentences
from trainingjobs.status.rollcall import Call
from trainingjobs.status.sentences import Block
from trainingjobs.status.standing import Standing, standing, succeeded_ranks

ALL_RUN = "AllInstancesRunning"
ALL_CREATED = "AllPodsCreated"
_PASSING = frozenset({Kind.STALLED, Kind.MISSING, Kind.STRAGGLER})
"""What was wrong for a while: of a job that came through it is not said any more."""


def report(
    job: TrainingJob,
    seen: Observed,
    verdict: Verdict,
    now: datetime,
    diagnosis: Diagnosis = rollcall.SILENCE,
) -> Status:
    """What the resource is to say; `now` is told in whole seconds."""
    now = now.replace(microsecond=0)
    moved = moves.moved(_trained(job, verdict, diagnosis), verdict, now)
    known = diagnosis if moved.attempt == job.attempt else rollcall.SILENCE
    call = rollcall.called(moved, known, now)
    size = replace(job, status=moved).size
    place = standing(size, _left(job, seen, verdict), moved.attempt, succeeded_ranks(moved))
    phase = _phase(moved, verdict, place, joining=_joining(moved, known))
    block = _steady(job.status, phase, _block(seen, verdict, place, phase))
    facts = (*_facts(place, phase, block, now), *call.conditions)
    told = moved.model_copy(
        update={
            **_named(job),
            **_called(moved, call),
            "phase": phase,
            "message": _message(phase, block, call),
            "ready": f"{place.ready}/{size}",
            "instances": place.counts,
            "running_time": moved.running_time or (now if phase is Phase.RUNNING else None),
            "partial_since": (moved.partial_since or now)
            if _in_part(verdict, place, seen)
            else None,
            "placement_timeouts": 0 if place.scheduled else moved.placement_timeouts,
            "replicas": sum(not pod.terminating for pod in place.pods.values()),
            "conditions": _numbered(job, _merged(moved, facts, phase, now)),
        }
    )
    return goodput.accounted(job.status, told, now)


def _trained(job: TrainingJob, verdict: Verdict, diagnosis: Diagnosis) -> TrainingJob:
    """The job with the last that is known of its training, before its attempt may end."""
    stalled = conditions.holds(job.status.conditions, conditions.STALLED)
    if diagnosis.stalled is not None:
        stalled = diagnosis.stalled.truth is True
    steps = verdict.step is Step.RUN and not stalled
    known = headway.training(job.status.training, diagnosis.headway, steps=steps)
    return replace(job, status=job.status.model_copy(update={"training": known}))


def _named(job: TrainingJob) -> dict[str, Any]:
    """What follows from the resource alone."""
    return {
        "observed_generation": job.generation,
        "selector": labels.selector(job.uid),
        "master_address": f"{names.pod(job.name, 0)}.{names.service(job.name)}:{job.spec.port}",
    }


def _called(moved: Status, call: Call) -> dict[str, Any]:
    """What the roll call adds, but for its conditions."""
    return {
        "progress": headway.progress(moved.training),
        "troubled_ranks": call.troubled,
        "findings": call.findings,
    }


def _message(phase: Phase, block: Block, call: Call) -> str:
    """What stands in the way; else what is wrong with the training, though it may end well."""
    lasting = [found.message for found in call.findings if found.type not in _PASSING]
    if phase is Phase.SUCCEEDED and lasting:
        return sentences.cut(f"{block.message}, but {lasting[0]}")
    return block.message or call.message


def _joining(status: Status, diagnosis: Diagnosis) -> bool:
    """True while a rank waits in init_process_group for one that was not whole before."""
    fact, known = diagnosis.registered, status.conditions
    if fact is None or fact.truth is not False or status.running_time is not None:
        return False
    waits = any(rank.stage is Stage.JOINING for rank in diagnosis.ranks)
    return waits and not conditions.holds(known, conditions.REGISTERED)


def _in_part(verdict: Verdict, place: Standing, seen: Observed) -> bool:
    """True while a part of the group waits for room for the rest.

    Not where the API server alone keeps the rest from being made: to give room back helps nobody.
    """
    unheard = any(problem.trouble is Trouble.UNAVAILABLE for problem in seen.problems)
    made = not unheard or place.counts.pending > 0
    return verdict.step is Step.RUN and place.partial and made


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


def _phase(status: Status, verdict: Verdict, place: Standing, *, joining: bool) -> Phase:
    if verdict.step in moves.FINAL:
        return moves.FINAL[verdict.step]
    if place.complete:
        return Phase.STARTING if joining else Phase.RUNNING
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


def _facts(place: Standing, phase: Phase, block: Block, now: datetime) -> list[Condition]:
    """What is seen of the pods; the job's end says nothing more of their making."""
    runs = place.complete and phase in {Phase.STARTING, Phase.RUNNING}
    told = conditions.of_phase(phase, block.reason, block.message, now, runs=runs)
    over = phase in {Phase.SUCCEEDED, Phase.FAILED}
    return told if over else [_created(place, block, now), *told]


def _merged(
    moved: Status, facts: Iterable[Condition], phase: Phase, now: datetime
) -> list[Condition]:
    known = conditions.merged(moved.conditions, facts)
    over = phase in {Phase.SUCCEEDED, Phase.FAILED}
    return conditions.settled(known, phase, now) if over else known


def _numbered(job: TrainingJob, facts: Iterable[Condition]) -> list[Condition]:
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
