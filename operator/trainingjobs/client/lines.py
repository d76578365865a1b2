"""Lines of one container's log: no one lost and no one doubled, however often it is read anew.

The API server starts a log at a whole second. So after a cut what was read of that second comes
again, and is known by its time and its text; two equal lines of one moment count as two.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

_STAMP = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)")
_SLACK = timedelta(seconds=1)
"""Standard output and standard error are stamped apart: one may be written a little later."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line, with the time at which the node wrote it."""

    stamp: str
    """UTC, with nine digits after the second, so that texts order as times do."""
    text: str


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of one rank."""

    rank: int
    """The instance's."""
    attempt: int
    pod: str
    time: str
    """As the node wrote it, to the nanosecond."""
    text: str


def parsed(raw: str) -> Line:
    """The line in what the API server sends with `timestamps=true`."""
    stamp, _, text = raw.partition(" ")
    found = _STAMP.fullmatch(stamp)
    if found is None:
        return Line("", raw)
    second, fraction, zone = found.groups(default="")
    moment = datetime.fromisoformat(second + zone).astimezone(UTC)
    return Line(f"{moment:%Y-%m-%dT%H:%M:%S}.{fraction:0<9}Z", text)


@dataclass(slots=True)
class Splitter:
    r"""Bytes to lines at `\n` alone: a progress bar's `\r` ends none."""

    rest: bytes = b""

    def lines(self, data: bytes) -> Iterator[str]:
        """The lines that these bytes complete."""
        *whole, self.rest = (self.rest + data).split(b"\n")
        return (line.decode(errors="replace") for line in whole)

    def last(self) -> Iterator[str]:
        """What the container ended with, where that was no whole line."""
        if self.rest:
            yield self.rest.decode(errors="replace")
            self.rest = b""


@dataclass(slots=True)
class Memory:
    """What was read of a container already, as far as it may come again."""

    since: str = ""
    """From when to read after a cut; empty before the first line."""
    tailed: bool = False
    """The first reading begins with a tail; what that has left out is to stay out."""
    _oldest: str = ""
    _opened: int = 0
    _kept: Counter[Line] = field(default_factory=Counter)
    _again: Counter[Line] = field(default_factory=Counter)

    def reopen(self) -> None:
        """The log is read anew from `since`."""
        self._again = self._kept.copy()
        self._opened += 1

    def is_new(self, line: Line) -> bool:
        """False for what was there before the log was read anew."""
        if self._again[line] > 0:
            self._again[line] -= 1
            return False
        if self.tailed and line.stamp and self._left_out(line.stamp):
            return False
        self._keep(line)
        return True

    def _left_out(self, stamp: str) -> bool:
        if self._opened <= 1:
            self._oldest = min(self._oldest or stamp, stamp)
        return stamp < self._oldest

    def _keep(self, line: Line) -> None:
        if line.stamp:
            moment = datetime.fromisoformat(f"{line.stamp[:19]}+00:00") - _SLACK
            begin = f"{moment:%Y-%m-%dT%H:%M:%S}Z"
            if begin > self.since:
                self.since = begin
                self._kept = Counter(
                    {old: count for old, count in self._kept.items() if old.stamp >= begin[:19]}
                )
        self._kept[line] += 1
