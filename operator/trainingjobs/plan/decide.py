"""The one function that the operator's shell calls: what is true in, what to do out.

Law: once a decision is carried out, deciding again gives nothing to do.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from trainingjobs.model.job import TrainingJob
from trainingjobs.model.observed import Observed, PodSeen
from trainingjobs.model.site import Site
from trainingjobs.model.spec import CleanPodPolicy, Manifest
from trainingjobs.model.verdict import Step, Verdict
from trainingjobs.plan import (
    cause,
    gang,
    launch,
    manifests,
    podgroup,
    rollcall,
    service,
    stall,
    timing,
)
from trainingjobs.plan.case import Case
from trainingjobs.plan.decision import Decision, PodRef
from trainingjobs.plan.judge import judge
from trainingjobs.status.report import noted, report


def decide(job: TrainingJob, seen: Observed, now: datetime, site: Site) -> Decision:
    """The next step of a job.

    Args:
        job: what is asked for, with the status as it was last written.
        seen: what is there.
        now: the time, aware of its zone.
        site: where the operator works.
    """
    if job.deleting:
        return Decision(status=job.status)
    if job.status.finished:
        return _finished(job, seen, now)
    case = Case(job, seen, now, site)
    news = _news_to_come(case)
    if news is not None:
        return Decision(status=job.status, wake_at=news)
    verdict = judge(case)
    status = report(job, seen, verdict, now, case.diagnosis)
    runs = verdict.step is Step.RUN
    create = _missing(case) if runs and not seen.problems else ()
    return Decision(
        status=status,
        check=_samples(case) if create and not (seen.service or case.pods) else (),
        change=(*podgroup.changed(case), *service.changed(case)) if runs else (),
        offer=_offered(case, create),
        create=create,
        keep=stall.kept(case, verdict),
        delete=_unwanted(case, verdict),
        delete_groups=podgroup.unwanted(case, verdict.step),
        wake_at=_wake_at(replace(job, status=status), verdict, case),
    )


def _news_to_come(case: Case) -> datetime | None:
    """When a failure was just seen, and its first cause may not have been: when it will."""
    if case.job.spec.suspend:
        return None
    found = case.cause
    if found is None or found.disruption:
        return None
    launched = launch.on(case.job)
    return cause.unsettled(case.pods, case.seen.roll, case.now, launched=launched)


def _missing(case: Case) -> tuple[Manifest, ...]:
    """What pods rest on first, then the pods that are not there, by rank."""
    job = case.job
    wanted = sorted(frozenset(range(job.size)) - case.done - case.pods.keys())
    group = gang.of(job, case.seen.served)
    pods = (manifests.pod(job, rank, case.site, group) for rank in wanted)
    before = manifests.launching(job, case.site) if wanted else ()
    return (*podgroup.created(case), *service.created(case), *before, *pods)


def _offered(case: Case, create: tuple[Manifest, ...]) -> tuple[Manifest, ...]:
    """The reporter's files, with every pod that is made: it may name others than its siblings."""
    made = any(manifest["kind"] == "Pod" for manifest in create)
    called = rollcall.on(case.job, case.site)
    return (manifests.reporter(case.job, case.site),) if made and called else ()


def _samples(case: Case) -> tuple[Manifest, ...]:
    """One pod of each template, for the API server to judge before anything is made."""
    job = case.job
    own_master = job.spec.master_template is not None and job.size > 1
    ranks = (0, 1) if own_master else (0,)
    group = gang.of(job, case.seen.served)
    return tuple(manifests.pod(job, rank, case.site, group) for rank in ranks)


def _unwanted(case: Case, verdict: Verdict) -> tuple[PodRef, ...]:
    """Pods that have to go once the status is written."""
    match verdict.step:
        case Step.RUN:
            return ()
        case Step.WAIT:
            return _refs(case.seen.others(case.job.attempt))
        case Step.RESTART:
            return _refs(case.seen.pods)
        case Step.SUSPEND:
            return _refs(pod for pod in case.seen.pods if pod.holds_resources)
        case Step.SUCCEED | Step.FAIL:
            return _cleaned(case.job, case.seen)


def _finished(job: TrainingJob, seen: Observed, now: datetime) -> Decision:
    """Nothing is made any more and nothing is said anew; what is left over goes when due."""
    due = timing.expiry(job)
    expired = due is not None and now >= due
    return Decision(
        status=noted(job),
        delete=() if expired else _cleaned(job, seen),
        delete_groups=() if expired else seen.groups,
        delete_job=expired,
        wake_at=None if expired else due,
    )


def _cleaned(job: TrainingJob, seen: Observed) -> tuple[PodRef, ...]:
    match job.spec.clean_pod_policy:
        case CleanPodPolicy.NONE if launch.on(job):
            return _refs(pod for pod in seen.pods if pod.rank and pod.running)  # only doors
        case CleanPodPolicy.NONE:
            return ()
        case CleanPodPolicy.ALL:
            return _refs(seen.pods)
        case CleanPodPolicy.RUNNING:
            return _refs(pod for pod in seen.pods if pod.holds_resources)


def _refs(pods: Iterable[PodSeen]) -> tuple[PodRef, ...]:
    return tuple(PodRef(name=pod.name, uid=pod.uid) for pod in pods if not pod.terminating)


def _wake_at(job: TrainingJob, verdict: Verdict, case: Case) -> datetime | None:
    """The next moment at which time alone changes the answer, by what the job will say then.

    No event need follow the first look at a job: its times begin with the status it gets now.
    """
    if verdict.step in {Step.SUCCEED, Step.FAIL, Step.RESTART}:
        return case.now
    if verdict.step is Step.SUSPEND:
        return None
    due = (
        verdict.until,
        timing.deadline(job),
        timing.startup_deadline(job),
        timing.placement_deadline(job),
        timing.naming(job),
        case.diagnosis.look_again,
    )
    return min((time for time in due if time is not None and time > case.now), default=None)
