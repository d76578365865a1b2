"""Which process speaks for which global rank.

A pod may report from many processes: torchrun's agent, the parent that spawned the ranks, the
ranks themselves, those that were replaced, and helpers that import torch to ask for a device.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from trainingjobs.diagnosis.stages import arrived, gone, joined, trains
from trainingjobs.model.report import Stage
from trainingjobs.model.roll import Entry

MISSED = 3
"""Reports in a row that may be lost or late before a process counts as silent."""
GRACE = timedelta(seconds=5)


def overdue(entry: Entry) -> datetime:
    """When a process that is not heard of again counts as silent."""
    return entry.received + MISSED * entry.interval + GRACE


def chosen(
    entries: Iterable[Entry], per_instance: int, world: int, now: datetime
) -> dict[int, Entry]:
    """The process that speaks for each rank of which one does."""
    claims: dict[int, list[Entry]] = defaultdict(list)
    for instance, own in _by_instance(entries).items():
        for number, entry in _numbered(instance, own, per_instance, now):
            if number < world:
                claims[number].append(entry)
    return {number: _likeliest(rivals, now) for number, rivals in claims.items()}


def _by_instance(entries: Iterable[Entry]) -> dict[int, list[Entry]]:
    own: dict[int, list[Entry]] = defaultdict(list)
    for entry in entries:
        own[entry.instance].append(entry)
    return own


def _numbered(
    instance: int, own: Sequence[Entry], per_instance: int, now: datetime
) -> Iterator[tuple[int, Entry]]:
    """The ranks that the processes of one pod know, or can only have."""
    able = _able(own)
    unnumbered = [entry for entry in able if entry.report.rank is None]
    taken = set()
    for entry in able:
        if entry.report.rank is not None:
            taken.add(entry.report.rank)
            yield entry.report.rank, entry
    if not unnumbered or (per_instance == 1 and taken):
        return
    first = instance * per_instance
    free = [number for number in range(first, first + per_instance) if number not in taken]
    yield from zip(free, _in_order(unnumbered, len(free), now), strict=False)


def _in_order(unnumbered: Sequence[Entry], places: int, now: datetime) -> list[Entry]:
    """Processes that have no rank yet: where as many are left as ranks, they start in order."""
    if places == 1:
        return [_likeliest(unnumbered, now)]
    if places != len(unnumbered):
        return []
    return sorted(unnumbered, key=lambda entry: (entry.report.pid, entry.report.process))


def _able(own: Sequence[Entry]) -> list[Entry]:
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


def _member(entry: Entry) -> bool:
    """True for a rank beyond doubt: what it starts is a helper."""
    return arrived(entry.report) and not gone(entry.report)


def _counts(entry: Entry) -> bool:
    """True for a child that shows its parent to be a launcher; a helper that has ended does not."""
    report = entry.report
    return not gone(report) or joined(report) or trains(report)


def _likeliest(rivals: Sequence[Entry], now: datetime) -> Entry:
    """Of several processes for one rank: one that lives, that has come far, that came last."""
    return rivals[0] if len(rivals) == 1 else max(rivals, key=lambda entry: _weight(entry, now))


def _weight(entry: Entry, now: datetime) -> tuple[bool, bool, datetime, str]:
    lives = now < overdue(entry) and not gone(entry.report)
    return lives, lives and arrived(entry.report), entry.first, entry.report.process
