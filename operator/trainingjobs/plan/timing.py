"""When things are due: back-off, deadlines and time to live. Every function takes its times."""

import hashlib
from datetime import datetime, timedelta

from trainingjobs.model.job import TrainingJob
from trainingjobs.model.observed import PodSeen
from trainingjobs.status import rollcall
from trainingjobs.status.moves import APART, PLANNED

FIRST_BACKOFF = timedelta(seconds=10)
LONGEST_BACKOFF = timedelta(minutes=5)
STUCK_AFTER = timedelta(seconds=30)
"""How long after the end of its grace a pod may still be there."""
LONG_RUN = timedelta(minutes=10)
"""An attempt that lasted this long made progress: the back-off starts anew."""


def restart_delay(job: TrainingJob, now: datetime, reason: str = "") -> timedelta:
    """How long the next attempt waits: nothing after a first short one, then 10 s, doubling.

    Args:
        job: whose attempt ends.
        now: when it ends.
        reason: why it ends; one that launched nothing made no progress, however long it lasted.
    """
    doublings = _short_attempts(job, now, reason) - 2
    if doublings < 0:
        return timedelta()
    # bounded, since a job may restart ten thousand times
    factor = 1 << min(doublings, 10)
    return min(FIRST_BACKOFF * factor, LONGEST_BACKOFF)


def deadline(job: TrainingJob) -> datetime | None:
    """When the job has run too long."""
    return _after(job.status.start_time, job.spec.active_deadline_seconds)


def startup_deadline(job: TrainingJob) -> datetime | None:
    """When the group must be complete: a release for lack of room is part of the same start."""
    since = job.status.starting_since or job.status.attempt_start_time
    return _after(since, job.spec.startup_timeout_seconds)


def naming(job: TrainingJob) -> datetime | None:
    """When the ranks are named that have not joined."""
    return rollcall.due(job.status)


def expiry(job: TrainingJob) -> datetime | None:
    """When a finished job is deleted."""
    return _after(job.status.completion_time, job.spec.ttl_seconds_after_finished)


def placement_deadline(job: TrainingJob) -> datetime | None:
    """Until when a group may be there in part."""
    return _after(job.status.partial_since, job.spec.placement_timeout_seconds)


def placement_delay(job: TrainingJob) -> timedelta:
    """How long a group that found no room stays away: 10 s, doubling up to 5 min, less a part.

    The part is a function of the job and the attempt, so that two groups which took each
    other's room do not come back together.
    """
    factor = 1 << min(job.status.placement_timeouts, 10)
    longest = min(FIRST_BACKOFF * factor, LONGEST_BACKOFF)
    digest = hashlib.sha256(f"{job.uid}/{job.attempt}".encode()).digest()
    return longest * (1 - digest[0] / 512)


def overdue(pod: PodSeen) -> datetime | None:
    """When a pod that was told to go should be gone by all means."""
    return None if pod.deletion_due is None else pod.deletion_due + STUCK_AFTER


def _after(start: datetime | None, seconds: int | None) -> datetime | None:
    return None if start is None or seconds is None else start + timedelta(seconds=seconds)


def _short_attempts(job: TrainingJob, now: datetime, reason: str) -> int:
    """Attempts that ended soon, one after the other, with the one that ends now."""
    spans = [(job.status.attempt_start_time, now, reason)] + [
        (item.start_time, item.end_time, item.reason)
        for item in reversed(job.status.attempts)
        if item.reason not in PLANNED
    ]
    count = 0
    for start, end, why in spans:
        if why not in APART and start is not None and end - start >= LONG_RUN:
            break
        count += 1
    return count
