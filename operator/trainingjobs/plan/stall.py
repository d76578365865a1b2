"""What a stall leads to where the user wants the group restarted, and what is kept of it first.

A stall is charged like a failure of the program. The stacks are all that tells of it later: the
processes that stand there die with the restart.
"""

from dataclasses import replace

from trainingjobs.model import names
from trainingjobs.model.finding import Finding, Kind, RankStanding
from trainingjobs.model.spec import Manifest, OnStall
from trainingjobs.model.status import Failure
from trainingjobs.model.text import MAX_MESSAGE, cut
from trainingjobs.model.verdict import Verdict
from trainingjobs.plan import manifests
from trainingjobs.plan.case import Case
from trainingjobs.plan.cause import Cause
from trainingjobs.plan.fallen import charged


def stalled(case: Case) -> Verdict | None:
    """The verdict on a group that stands still beyond doubt, where it is to be restarted."""
    if case.job.spec.on_stall is not OnStall.RESTART:
        return None
    fact = case.diagnosis.stalled
    if fact is None or fact.truth is not True or not fact.certain:
        return None
    verdict = charged(case, Cause(failure=_failure(case, fact.message), disruption=False))
    if not case.diagnosis.stacks:
        return verdict
    where = f"; stacks in ConfigMap {names.stacks(case.job.name, case.job.attempt)}"
    return replace(verdict, message=cut(verdict.message, MAX_MESSAGE - len(where)) + where)


def kept(case: Case, verdict: Verdict) -> tuple[Manifest, ...]:
    """The stacks of a group that ends because it stalled."""
    failure = verdict.failure
    if failure is None or failure.reason != Kind.STALLED or not case.diagnosis.stacks:
        return ()
    return (manifests.stacks(case.job, case.diagnosis.stacks),)


def _failure(case: Case, words: str) -> Failure:
    guilty = _guilty(case)
    instance = guilty.instance if guilty else names.MASTER_RANK
    return Failure(
        rank=instance,
        pod=guilty.pod if guilty else names.pod(case.job.name, instance),
        node=guilty.node if guilty else None,
        reason=Kind.STALLED.value,
        message=words,
        time=case.now.replace(microsecond=0),
    )


def _guilty(case: Case) -> RankStanding | None:
    """The first rank at fault; none where all stand at the same place."""
    found = _finding(case)
    first = found.ranks[0] if found and found.ranks else None
    return next((rank for rank in case.diagnosis.ranks if rank.rank == first), None)


def _finding(case: Case) -> Finding | None:
    return next((it for it in case.diagnosis.findings if it.kind is Kind.STALLED), None)
