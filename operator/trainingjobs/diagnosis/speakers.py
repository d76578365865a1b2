"""Which process speaks for which global rank.

A pod may report from many processes: torchrun's agent, the parent that spawned the ranks, the
ranks themselves, those that were replaced, and helpers that import torch to ask for a device.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from functools import cache

from trainingjobs.diagnosis.said import Heard
from trainingjobs.diagnosis.stages import arrived, gone, joined, trains
from trainingjobs.model.report import Stage

MISSED = 3
"""Reports in a row that may be lost or late before a process counts as silent."""
GRACE = timedelta(seconds=5)


BACKOFF = timedelta(seconds=60)
"""After so long at most, a process that could not report tries again."""


def overdue(entry: Heard) -> datetime:
    """When a process that is not heard of again counts as silent."""
    return entry.received + patience(entry.interval)


def heard(entry: Heard, deaf_until: datetime | None) -> datetime:
    """From when its silence counts: the operator may have heard nobody, for reasons of its own."""
    if deaf_until is None or entry.received >= deaf_until:
        return entry.received
    return deaf_until + BACKOFF


@cache
def patience(interval: timedelta) -> timedelta:
    """How long a process that is to report so often is waited for."""
    return MISSED * interval + GRACE


def chosen(
    entries: Sequence[Heard], per_instance: int, world: int, now: datetime
) -> dict[int, Heard]:
    """The process that speaks for each rank of which one does."""
    if len({entry.instance for entry in entries}) == len(entries):
        alone = {entry.report.rank or 0: entry for entry in entries if _is_plain(entry, world)}
        if len(alone) == len(entries):
            return alone
    return _elected(entries, per_instance, world, now)


def _is_plain(entry: Heard, world: int) -> bool:
    """True for a process that says itself which rank it is: most often all do."""
    report = entry.report
    knows = report.rank is not None and report.rank < world and report.world_size == world
    return knows and not report.launcher


def _elected(
    entries: Sequence[Heard], per_instance: int, world: int, now: datetime
) -> dict[int, Heard]:
    """The same where several processes of a pod may be meant, or none knows its rank."""
    claims: dict[int, list[Heard]] = defaultdict(list)
    for instance, own in _by_instance(entries).items():
        able = _able(own) if len(own) > 1 or own[0].report.launcher else own
        known = [entry for entry in able if _knows(entry, world)]
        for entry in known:
            claims[entry.report.rank or 0].append(entry)
        if len(known) < len(able):
            taken = frozenset(entry.report.rank for entry in known)
            unknown = [entry for entry in able if not _knows(entry, world)]
            for number, entry in _assigned(instance, unknown, per_instance, taken, now):
                claims[number].append(entry)
    return {
        number: rivals[0] if len(rivals) == 1 else _likeliest(rivals, now)
        for number, rivals in claims.items()
    }


def _by_instance(entries: Iterable[Heard]) -> dict[int, list[Heard]]:
    own: dict[int, list[Heard]] = defaultdict(list)
    for entry in entries:
        own[entry.instance].append(entry)
    return own


def _knows(entry: Heard, world: int) -> bool:
    """True when it knows its rank in this group; a rank in another group says nothing."""
    report = entry.report
    return report.rank is not None and report.rank < world and report.world_size in {None, world}


def _assigned(
    instance: int,
    unknown: Sequence[Heard],
    per_instance: int,
    taken: Collection[int | None],
    now: datetime,
) -> Iterable[tuple[int, Heard]]:
    """Ranks of processes that know none: where as many are left as ranks, they start in order."""
    if per_instance == 1:
        return [] if taken else [(instance, _likeliest(unknown, now))]
    first = instance * per_instance
    free = [number for number in range(first, first + per_instance) if number not in taken]
    if len(free) != len(unknown):
        return []
    ordered = sorted(unknown, key=lambda entry: (entry.report.pid, entry.report.process))
    return zip(free, ordered, strict=True)


def _able(own: Sequence[Heard]) -> list[Heard]:
    """Those of one pod that may be ranks: no launchers, no parents of ranks, no helpers."""
    able = [entry for entry in own if not entry.report.launcher]
    if len(able) == 1:
        return able
    members = {entry.report.pid for entry in able if _member(entry)} - {0}
    parents = {entry.report.parent for entry in able if _counts(entry)} - {0}
    return [
        entry
        for entry in able
        if entry.report.parent not in members
        and not (entry.report.stage is Stage.SPAWNED and entry.report.pid in parents)
    ]


def _member(entry: Heard) -> bool:
    """True for a rank beyond doubt: what it starts is a helper."""
    return arrived(entry.report) and not gone(entry.report)


def _counts(entry: Heard) -> bool:
    """True for a child that shows its parent to be a launcher; a helper that has ended does not."""
    report = entry.report
    return not gone(report) or joined(report) or trains(report)


def _likeliest(rivals: Sequence[Heard], now: datetime) -> Heard:
    """Of several processes for one rank: one that lives, that has come far, that came last."""
    return max(rivals, key=lambda entry: _weight(entry, now))


def _weight(entry: Heard, now: datetime) -> tuple[bool, bool, datetime, str]:
    lives = now < overdue(entry) and not gone(entry.report)
    return lives, lives and arrived(entry.report), entry.first, entry.report.process
