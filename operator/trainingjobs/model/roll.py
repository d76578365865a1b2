"""The roll: who has answered in one attempt of a job, with what and when."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from trainingjobs.model.report import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """The last report of one process, and what its token proved."""

    instance: int
    """The pod's number in its group: 0 is the master."""
    pod_uid: str
    received: datetime
    first: datetime
    """When the process was first heard of."""
    interval: timedelta
    """How soon it was asked to report again."""
    report: Report


@dataclass(frozen=True, slots=True, kw_only=True)
class Roll:
    """All processes of one attempt that have reported; empty where the roll call is off."""

    entries: tuple[Entry, ...] = ()
    deaf_until: datetime | None = None
    """The end of the last time in which nobody at all was heard: silence says little before it."""
