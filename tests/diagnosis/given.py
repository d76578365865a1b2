"""Ranks that report: what a test does not name is a rank that steps as it should."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from builders import NOW, a_job, a_pod, seen
from trainingjobs.diagnosis.diagnose import diagnose
from trainingjobs.model.finding import Diagnosis, Kind
from trainingjobs.model.job import TrainingJob
from trainingjobs.model.observed import PodSeen
from trainingjobs.model.report import Frame, Report
from trainingjobs.model.roll import Entry, Roll

INTERVAL = timedelta(seconds=5)
BEGINNING = NOW - timedelta(minutes=20)
"""When the processes were first heard of."""
LINES = {
    "init": "train.py:5",
    "loader": "train.py:20",
    "sampler": "train.py:19",
    "wrap": "train.py:12",
    "step": "train.py:41",
}


def at_line(line: int, function: str = "main", file: str = "train.py") -> list[Frame]:
    """A stack whose innermost frame is the user's."""
    return [Frame(file=file, line=line, function=function, user=True)]


def in_loader(line: int = 7) -> list[Frame]:
    """A stack that waits for a batch."""
    torch = Frame(file="torch/utils/data/dataloader.py", line=1300, function="_try_get_data")
    return [torch, *at_line(line)]


def a_report(rank: int | None, world: int = 3, **changes: Any) -> Report:
    """A rank that steps in DDP with a distributed sampler; fields by their Python names."""
    told: dict[str, Any] = {
        "version": 1,
        "process": f"process-{rank}",
        "pid": 100 + (rank or 0),
        "parent": 1,
        "rank": rank,
        "world_size": world,
        "stage": "stepping",
        "stage_seconds": 600,
        "steps": 1000,
        "rate": 2.0,
        "quiet_seconds": 0.2,
        "longest_quiet": 3.0,
        "cpu": 0.9,
        "own_seconds": 0.2,
        "sequence": 4000,
        "frames": at_line(41),
        "lines": LINES,
        "data": {"sampler": "distributed", "samples": 20000, "epoch_set": True, "shuffle": True},
        "model": {"wrapper": "DistributedDataParallel", "exchange": "wrapped"},
    }
    return Report.model_validate({**told, **changes})


def spawned(rank: int | None, line: int = 7, function: str = "load_data", **changes: Any) -> Report:
    """A process that has not asked for the process group."""
    before = {
        "stage": "spawned",
        "steps": 0,
        "rate": 0,
        "own_seconds": None,
        "sequence": None,
        "frames": at_line(line, function),
        "lines": {},
        "data": {},
        "model": {},
        "quiet_seconds": 100,
        "stage_seconds": 100,
        "longest_quiet": 0,
    }
    return a_report(rank, **{**before, **changes})


def joining(rank: int, seconds: float = 10, **changes: Any) -> Report:
    """A rank inside init_process_group."""
    inside = {
        "stage": "joining",
        "stage_seconds": seconds,
        "quiet_seconds": seconds,
        "waits_in": "init_process_group",
        "frames": at_line(5),
        "lines": {"init": "train.py:5"},
    }
    return spawned(rank, **{**inside, **changes})


def joined(rank: int, seconds: float = 10, **changes: Any) -> Report:
    """A rank that is through init_process_group and has not stepped."""
    return joining(rank, seconds, **{"stage": "joined", "waits_in": None, **changes})


def waiting(rank: int, seconds: float = 400, line: int = 30, **changes: Any) -> Report:
    """A rank that waits for the others in backward."""
    still = {
        "quiet_seconds": seconds,
        "waits_in": "backward",
        "cpu": 0.01,
        "frames": at_line(line),
    }
    return a_report(rank, **{**still, **changes})


def idle(rank: int, seconds: float = 400, line: int = 7, **changes: Any) -> Report:
    """A rank that stands outside of all collectives and does nothing."""
    return waiting(rank, seconds, line, **{"waits_in": None, **changes})


def an_entry(report: Report, instance: int | None = None, **changes: Any) -> Entry:
    """A report that arrived just now, of the rank's own pod unless another is named."""
    place = instance if instance is not None else (report.rank or 0)
    entry = Entry(
        instance=place,
        pod_uid=f"pod-1-{place}",
        received=NOW,
        first=BEGINNING,
        interval=INTERVAL,
        report=report,
    )
    return replace(entry, **changes)


def long_ago(report: Report, seconds: float, **changes: Any) -> Entry:
    """A report that arrived so long ago, and none since."""
    return an_entry(report, received=NOW - timedelta(seconds=seconds), **changes)


def looked_at(
    *told: Report | Entry,
    job: TrainingJob | None = None,
    pods: Iterable[PodSeen] | None = None,
    now: datetime = NOW,
    deaf_until: datetime | None = None,
) -> Diagnosis:
    """The diagnosis of a job of three instances, all of which run, unless others are named."""
    job = job or a_job(3)
    there = [a_pod(rank) for rank in range(job.size)] if pods is None else pods
    entries = tuple(one if isinstance(one, Entry) else an_entry(one) for one in told)
    roll = Roll(entries=entries, deaf_until=deaf_until)
    return diagnose(job, seen(*there, roll=roll), now)


def kinds(found: Diagnosis) -> list[Kind]:
    """What was found, the gravest first."""
    return [finding.kind for finding in found.findings]
