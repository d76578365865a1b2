"""What the roll call adds to a status: its conditions, its findings, and the ranks in trouble.

A new attempt knows nothing yet, so all of it goes with the attempt that it spoke of. An operator
that starts anew has heard nothing yet, so all of it stays until the first reports come.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import chain, islice

from trainingjobs.model import ranks
from trainingjobs.model.finding import Diagnosis, Fact, Finding, Kind, RankStanding
from trainingjobs.model.status import Condition, Status
from trainingjobs.model.text import cut
from trainingjobs.model.training import MAX_FINDINGS, MAX_TROUBLED, Found, TroubledRank
from trainingjobs.status import conditions
from trainingjobs.status.conditions import REGISTERED, SHARDED, STALLED, WRAPPED

PATIENCE = timedelta(seconds=10)
"""For how long ranks may be on their way before the job's message names them."""
SILENCE = Diagnosis()
_TIME = re.compile(r"\b\d\d:\d\d(:\d\d)?Z")
_MAX_RANKS = 256
_MAX_LINE = 300
_MAX_NAME = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What is told of one attempt."""

    conditions: tuple[Condition, ...]
    findings: list[Found]
    troubled: list[TroubledRank]

    message: str
    """The gravest of it in one sentence; empty while all is well."""


def called(status: Status, diagnosis: Diagnosis, now: datetime) -> Call:
    """What is told after this diagnosis.

    Args:
        status: what was told of this attempt until now.
        diagnosis: what is known now.
        now: the time, in whole seconds.
    """
    if diagnosis.partial and conditions.holds(status.conditions, STALLED):
        diagnosis = _as_told(diagnosis)
    facts = _conditions(status.conditions, diagnosis, now)
    findings, troubled = status.findings, status.troubled_ranks
    if diagnosis != SILENCE:
        told = tuple(it for it in diagnosis.findings if _is_told(it, facts))
        stays = _stays(findings, told, diagnosis, facts)
        new = [_found(findings, it, now) for it in told]
        findings = [*stays, *new][:MAX_FINDINGS]
        troubled = _with(troubled if stays else [], _troubled(troubled, told, diagnosis))
    return Call(
        conditions=facts,
        findings=findings,
        troubled=troubled,
        message=_message(facts, findings, now),
    )


def _as_told(diagnosis: Diagnosis) -> Diagnosis:
    """A stall is told anew, and of other ranks, once all are heard of."""
    if diagnosis.stalled is None or diagnosis.stalled.truth is False:
        return diagnosis
    others = tuple(it for it in diagnosis.findings if it.kind is not Kind.STALLED)
    return replace(diagnosis, stalled=None, findings=others)


def _stays(
    old: Iterable[Found], new: Iterable[Finding], diagnosis: Diagnosis, facts: Iterable[Condition]
) -> list[Found]:
    """What was found before and is not looked at anew: nothing is heard of its ranks yet."""
    kinds = {it.kind.value for it in new}
    stalls = diagnosis.stalled is None and conditions.holds(facts, STALLED)
    return [
        found
        for found in old
        if found.type not in kinds and (stalls if found.type == Kind.STALLED else diagnosis.partial)
    ]


def _with(old: Iterable[TroubledRank], new: list[TroubledRank]) -> list[TroubledRank]:
    known = {rank.rank for rank in new}
    return [*new, *(rank for rank in old if rank.rank not in known)][:MAX_TROUBLED]


def _message(facts: Iterable[Condition], findings: Iterable[Found], now: datetime) -> str:
    stalled = conditions.of(facts, STALLED)
    if stalled is not None and stalled.status == "True":
        return stalled.message
    registered = conditions.of(facts, REGISTERED)
    if registered is not None and registered.status == "False" and now >= _named_at(registered):
        return registered.message
    return next((found.message for found in findings), "")


def _named_at(registered: Condition) -> datetime:
    return registered.last_transition_time + PATIENCE


def due(status: Status) -> datetime | None:
    """When the message names the ranks that are on their way."""
    registered = conditions.of(status.conditions, REGISTERED)
    if registered is None or registered.status != "False":
        return None
    return _named_at(registered)


def _conditions(
    old: Iterable[Condition], diagnosis: Diagnosis, now: datetime
) -> tuple[Condition, ...]:
    """The conditions that the roll call speaks of, with the times since when they hold."""
    facts = {
        REGISTERED: diagnosis.registered,
        STALLED: diagnosis.stalled,
        SHARDED: diagnosis.sharded,
        WRAPPED: diagnosis.wrapped,
    }
    known = [item for item in old if item.type in facts]
    told_before = conditions.of(known, REGISTERED)
    if told_before is not None and told_before.status == "True":
        facts[REGISTERED] = _completed(told_before, diagnosis.registered)
    if diagnosis.partial:
        told = {item.type for item in known if item.status != "Unknown"}
        facts.update(dict.fromkeys(told & {SHARDED, WRAPPED}))
    new = [
        _condition(name, fact, conditions.of(known, name), now)
        for name, fact in facts.items()
        if fact is not None
    ]
    return tuple(conditions.merged(known, new))


def _completed(before: Condition, fact: Fact | None) -> Fact | None:
    """Who has joined has joined, though an operator that starts anew hears of one at a time.

    Only what was said with a reserve is said without it once all are heard.
    """
    whole = fact is not None and fact.truth is True and before.message.startswith(fact.message)
    return fact if whole else None


def _condition(name: str, fact: Fact, before: Condition | None, now: datetime) -> Condition:
    return Condition(
        type=name,
        status=conditions.TRUTH[fact.truth],
        reason=fact.reason,
        message=_worded(before.message if before else "", fact.message),
        last_transition_time=now,
    )


def _is_told(finding: Finding, facts: Iterable[Condition]) -> bool:
    """False for ranks that would be missing, but have joined before."""
    return finding.kind is not Kind.MISSING or not conditions.holds(facts, REGISTERED)


def _found(old: Iterable[Found], finding: Finding, now: datetime) -> Found:
    guilty = _shortened(ranks.compact(finding.ranks), _MAX_RANKS)
    known = (it for it in old if (it.type, it.ranks) == (finding.kind.value, guilty))
    before = next(known, None)
    return Found(
        type=finding.kind.value,
        ranks=guilty,
        message=_worded(before.message if before else "", finding.message),
        line=_line(finding.line),
        since=before.since if before else now,
    )


def _troubled(
    old: Iterable[TroubledRank], findings: Iterable[Finding], diagnosis: Diagnosis
) -> list[TroubledRank]:
    """The guilty ranks of what is told, the gravest first."""
    guilty = dict.fromkeys(chain.from_iterable(finding.ranks for finding in findings))
    wanted = list(islice(guilty, MAX_TROUBLED))
    found = {rank.rank: rank for rank in diagnosis.ranks if rank.rank in wanted}
    known = {rank.rank: rank for rank in old}
    return [_trouble(known.get(rank), found[rank]) for rank in wanted if rank in found]


def _trouble(before: TroubledRank | None, rank: RankStanding) -> TroubledRank:
    """The rank as it is now; the time of its stage is an estimate, of which the first stays."""
    stage = None if rank.stage is None else rank.stage.value
    since = None if rank.since is None else rank.since.replace(microsecond=0)
    if before is not None and (before.pod, before.stage) == (rank.pod, stage):
        since = before.since or since
    return TroubledRank(
        rank=rank.rank,
        pod=rank.pod,
        node=rank.node,
        stage=stage,
        since=since,
        line=_line(rank.line),
        waits_in=rank.waits_in and _shortened(rank.waits_in, _MAX_NAME),
        step=rank.step,
    )


def _worded(old: str, new: str) -> str:
    """The words; the old ones where an estimated time in them alone has moved."""
    new = cut(new)
    return old if _TIME.sub("", old) == _TIME.sub("", new) else new


def _line(line: str | None) -> str | None:
    return line and _shortened(line, _MAX_LINE)


def _shortened(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
