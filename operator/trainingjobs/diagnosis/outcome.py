"""What one question of the diagnosis answers."""

from dataclasses import dataclass
from datetime import datetime

from trainingjobs.model.finding import Fact, Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A fact, what follows from it, and the moments at which time alone changes it."""

    fact: Fact | None = None
    findings: tuple[Finding, ...] = ()
    moments: tuple[datetime, ...] = ()
