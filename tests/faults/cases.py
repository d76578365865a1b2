"""Cases out of recordings: each scenario, at each write and each watch event, with each fault."""

import hashlib
import json
import os
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from faults import kinds
from faults.scenarios import SCENARIOS
from trainingjobs.model import labels

RECORDINGS = Path(__file__).parent / "recordings"
CHOSEN_PER_KIND = 3
CHOSEN_SEED = 1
_SEED = secrets.randbelow(10**6)
_VERBS = {"create", "check", "patch", "delete"}


@dataclass(frozen=True, slots=True)
class Case:
    """One fault at one place of one life."""

    scenario: str
    at: str
    fault: str
    seconds: float = kinds.WHILE
    """For how long permissions are away."""

    @property
    def id(self) -> str:
        """Scenario, position, fault, and how long it takes where that is long."""
        long = f"_{self.seconds:.0f}s" if self.long else ""
        return f"{self.scenario}-{self.at.replace(' ', '.')}-{self.fault}{long}"

    @property
    def long(self) -> bool:
        """True when it takes so long that it needs an operator of its own and much patience."""
        return self.seconds > kinds.WHILE

    @property
    def resource(self) -> str:
        """What kind of object the write or the event is about; the status is the job's."""
        about = next(word for word in self.at.split() if word not in _VERBS)
        return labels.PLURAL if about == "status" else about

    @property
    def kills(self) -> bool:
        """True when it needs an operator of its own."""
        return self.fault in kinds.KILLS

    @property
    def refuses_a_template(self) -> bool:
        """True when the API server seems to say that an object can never be made."""
        made = ("create pods", "check pods", "create services", "create podgroups")
        return self.fault == "422" and self.at.startswith(made)


def recording(scenario: str) -> dict[str, list[str]]:
    """The writes and watch events of a run without faults, as committed."""
    path = RECORDINGS / f"{scenario}.json"
    if not path.exists():
        return {"writes": [], "events": []}
    recorded: dict[str, list[str]] = json.loads(path.read_text())
    return recorded


def every() -> list[Case]:
    """All cases."""
    return [case for scenario in SCENARIOS for case in _of(scenario)]


def long() -> list[Case]:
    """Permissions that are gone for a minute: at one place of each resource in each life.

    Which place is the seed's choice, so that each run sees others.
    """
    found: dict[tuple[str, str], Case] = {}
    for case in shuffled(every()):
        if case.fault == kinds.FORBIDS:
            found.setdefault((case.scenario, case.resource), case)
    return [replace(case, seconds=kinds.MINUTE) for case in found.values()]


def chosen() -> list[Case]:
    """A few cases of each kind of fault, the same ones each time."""
    found: dict[str, list[Case]] = {}
    for case in sorted(every(), key=lambda case: _order(case, CHOSEN_SEED)):
        some = found.setdefault(case.fault, [])
        if len(some) < CHOSEN_PER_KIND and case.scenario not in {it.scenario for it in some}:
            some.append(case)
    return [case for some in found.values() for case in some]


def seed() -> int:
    """What the order of cases comes from: FAULTS_SEED, or chance."""
    return int(os.environ.get("FAULTS_SEED", _SEED))


def shuffled(cases: Iterable[Case]) -> list[Case]:
    """The cases in the order of the seed, so that a run that is cut short has seen all kinds."""
    return sorted(cases, key=lambda case: _order(case, seed()))


def _of(scenario: str) -> Iterator[Case]:
    recorded = recording(scenario)
    for at in recorded["writes"]:
        for fault in kinds.WRITES:
            if fault != "409_exists" or at.startswith("create"):
                yield Case(scenario, at, fault)
    for at in recorded["events"]:
        for fault in kinds.EVENTS:
            yield Case(scenario, at, fault)


def _order(case: Case, number: int) -> str:
    return hashlib.sha256(f"{number} {case.id}".encode()).hexdigest()
