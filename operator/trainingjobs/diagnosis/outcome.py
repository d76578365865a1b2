"""What one question of the diagnosis answers."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from trainingjobs.model.finding import Fact, Finding, Kind
from trainingjobs.model.text import cut


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A fact, what follows from it, and the moments at which time alone changes it."""

    fact: Fact | None = None
    findings: tuple[Finding, ...] = ()
    moments: tuple[datetime, ...] = ()


def found(kind: Kind, numbers: Iterable[int], said: str, line: str | None) -> Finding:
    """A finding about these ranks, in one line that fits the resource."""
    return Finding(kind=kind, ranks=tuple(numbers), message=cut(said), line=line or None)


def wrong(finding: Finding) -> Outcome:
    """A condition that is false for what was found."""
    fact = Fact(truth=False, reason=finding.kind.value, message=finding.message)
    return Outcome(fact=fact, findings=(finding,))
