"""The table of jobs: kubectl's columns, with the names of namespaces where they differ."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from trainingjobs.cli.views import text
from trainingjobs.client.job import Job

_COLUMNS = ("NAME", "PHASE", "READY", "PROGRESS", "RESTARTS", "AGE")
_MORE = ("FRAMEWORK", "DISRUPTIONS", "MASTER", "MESSAGE")


def rows(
    jobs: Iterable[Job], now: datetime, *, wide: bool = False, spaces: bool = False
) -> list[Sequence[str]]:
    """The header and a row for each job, by name.

    Args:
        jobs: in any order.
        now: for their ages.
        wide: more columns.
        spaces: the namespace is the first column.
    """
    header = (*(("NAMESPACE",) if spaces else ()), *_COLUMNS, *(_MORE if wide else ()))
    ordered = sorted(jobs, key=lambda job: (job.namespace, job.name))
    return [header, *(_row(job, now, wide=wide, spaces=spaces) for job in ordered)]


def _row(job: Job, now: datetime, *, wide: bool, spaces: bool) -> Sequence[str]:
    status = job.status
    first = (job.namespace,) if spaces else ()
    cells = (
        job.name,
        job.phase or "Unseen",
        str(status.get("ready") or f"0/{job.size}"),
        str(status.get("progress") or ""),
        str(status.get("restarts") or 0),
        text.since(job.created, now),
    )
    more = (
        str(job.spec.get("framework") or ""),
        str(status.get("disruptions") or 0),
        str(status.get("masterAddress") or ""),
        job.message,
    )
    return (*first, *cells, *(more if wide else ()))
