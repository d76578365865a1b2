"""The exceptions that ended ranks, as their processes told it before they died.

What a container leaves behind is the end of its log: another thread's last words, torchrun's
table, or nothing once the pod is gone. The process itself knows the exception and its line.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from trainingjobs.diagnosis.stages import arrived, trains
from trainingjobs.model.report import Error, Report, Stage
from trainingjobs.model.roll import Entry, Roll
from trainingjobs.model.text import MAX_MESSAGE, cut

_LOST_PEER = re.compile(
    r"connection (reset|closed|refused)|closed by peer|broken pipe|socket closed|recvvalue failed"
    r"|remote process exited|nccl.{0,40}(abort|timeout|remote)|peer.{0,20}(gone|lost|down)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Uncaught:
    """An exception that nobody caught, and when."""

    error: Error
    time: datetime

    @property
    def words(self) -> str:
        """As it stands at the end of a trace: `ValueError: the message`."""
        return ": ".join(filter(None, (self.error.type, self.error.message)))

    @property
    def sentence(self) -> str:
        """With the line that owns it: `ValueError: the message (train.py:12)`."""
        frame = self.error.frame
        return cut(f"{self.words} ({frame.file}:{frame.line})" if frame else self.words)


def uncaught(roll: Roll) -> Mapping[int, Uncaught]:
    """The exception that ended each instance that told of one."""
    found: dict[int, list[tuple[bool, Uncaught]]] = {}
    for entry in _last_of_each_rank(_without_helpers(roll.entries)):
        if entry.report.error is not None:
            own = Uncaught(entry.report.error, _time(entry))
            found.setdefault(entry.instance, []).append((entry.report.launcher, own))
    return {instance: min(errors, key=_order)[1] for instance, errors in found.items()}


def lost_peer(message: str) -> bool:
    """True for words that complain of another rank."""
    return _LOST_PEER.search(message) is not None


def told(message: str, exception: Uncaught | None) -> str:
    """A container's last lines with the exception as the last of them."""
    if exception is None:
        return message[-MAX_MESSAGE:]
    lines = message.rstrip().split("\n") if message.strip() else []
    if lines and lines[-1].endswith(exception.words):
        lines.pop()
    return "\n".join([*lines, exception.sentence])[-MAX_MESSAGE:]


def _without_helpers(entries: Iterable[Entry]) -> Iterable[Entry]:
    """Without what a rank has started: it has the rank's environment, and may fail as it likes."""
    every = list(entries)
    members = {(entry.instance, entry.report.pid) for entry in every if _member(entry.report)}
    return [entry for entry in every if (entry.instance, entry.report.parent) not in members]


def _member(report: Report) -> bool:
    """True for a rank beyond doubt, also once it has ended."""
    return report.pid > 0 and not report.launcher and (arrived(report) or trains(report))


def _last_of_each_rank(entries: Iterable[Entry]) -> Iterable[Entry]:
    """Without processes that were followed by another of their rank: what ended them is past."""
    last: dict[object, Entry] = {}
    for entry in sorted(entries, key=lambda entry: entry.first):
        report = entry.report
        nobody = report.rank is None or report.launcher
        key = report.process if nobody else (entry.instance, report.rank)
        last[key] = entry
    return last.values()


def _time(entry: Entry) -> datetime:
    """When it happened; one that has not come to its end has told of it at once."""
    report = entry.report
    ago = report.stage_seconds if report.stage is Stage.ENDED else 0.0
    return entry.received - timedelta(seconds=ago)


def _order(told: tuple[bool, Uncaught]) -> tuple[bool, bool, datetime]:
    """A launcher only says that a rank has failed, a rank's victims that a peer is lost."""
    launcher, exception = told
    return launcher, lost_peer(exception.words), exception.time
