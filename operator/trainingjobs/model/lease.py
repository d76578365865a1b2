"""Who leads: what a Lease says, and what one candidate may conclude from it.

No clock but the candidate's own counts. A holder is believed to be alive for as long as its record
keeps changing, seen from here; what time the record names is for people alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

Manifest = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Seconds. The leader stops writing before anybody else may begin."""

    duration: float = 10.0
    """A record that has not changed for so long is nobody's."""
    deadline: float = 7.0
    """The holder writes for so long after it asked for the last renewal that it was given."""
    renew: float = 2.0
    """How often the holder asks."""
    ask: float = 1.0
    """How often the others look."""


TERMS = Terms()
_MOMENT = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The record as it was last seen, and since when it says what it says."""

    says: Mapping[str, Any]
    since: float
    lease: Manifest | None
    """What to change; none where there is no Lease."""

    @property
    def holder(self) -> str:
        """Who holds it; nobody after a clean stop."""
        return str(self.says.get("holderIdentity") or "")

    def ends(self, terms: Terms) -> float:
        """When it is nobody's, if it does not change: a patient holder is given its own time."""
        told = self.says.get("leaseDurationSeconds") or 0
        return self.since + max(terms.duration, float(told))


def seen(before: Seen | None, lease: Manifest | None, now: float) -> Seen:
    """The record by what the API server has just said.

    A Lease that somebody deletes takes nothing from its holder, who does not know yet: what it
    said last counts on.
    """
    if lease is None:
        return Seen(says=before.says, since=before.since, lease=None) if before else _nobodys(now)
    says: Manifest = lease.get("spec") or {}
    since = before.since if before is not None and before.says == says else now
    return Seen(says=says, since=since, lease=lease)


def vacant(found: Seen, me: str, now: float, terms: Terms = TERMS) -> bool:
    """True when this candidate may take it.

    A kubelet starts a pod's container anew only when the one before has ended: what ran in this
    very pod holds nothing any more.
    """
    return not found.holder or pod_of(found.holder) == pod_of(me) or now >= found.ends(terms)


def wait(found: Seen, now: float, terms: Terms = TERMS) -> float:
    """For how long a candidate waits before it looks again: never past the end."""
    left = found.ends(terms) - now
    return min(terms.ask, left + _MOMENT) if left > 0 else terms.ask


def claimed(found: Seen, me: str, today: datetime, terms: Terms = TERMS) -> Manifest:
    """What the record says once it is this candidate's."""
    says = found.says
    now = _micro(today)
    mine = found.holder == me
    times = int(says.get("leaseTransitions") or 0)
    return {
        "holderIdentity": me,
        "leaseDurationSeconds": int(terms.duration),
        "acquireTime": says.get("acquireTime") or now if mine else now,
        "renewTime": now,
        "leaseTransitions": times if mine else times + 1,
    }


def released(found: Seen, today: datetime) -> Manifest:
    """What the record says after a clean stop: whoever looks may take it at once."""
    return {
        **found.says,
        "holderIdentity": "",
        "leaseDurationSeconds": 1,
        "renewTime": _micro(today),
    }


def identity(pod: str, chance: str) -> str:
    """The name of one process: a container that starts anew is not the one that ended.

    Args:
        pod: its pod; outside of a pod a name that no other process has.
        chance: what no process before had.
    """
    return f"{pod}_{chance}"


def pod_of(holder: str) -> str:
    """The pod of a holder; a pod's name has no underscore."""
    return holder.rpartition("_")[0]


def _nobodys(now: float) -> Seen:
    return Seen(says={}, since=now, lease=None)


def _micro(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
