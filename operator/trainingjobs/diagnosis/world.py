"""How many ranks the group has: as the job asks, unless all processes agree on another number.

torchrun's own `--nproc-per-node` and scripts that count nodes instead of processes make groups
that the resource does not know of, and train rightly.
"""

from collections.abc import Sequence

from trainingjobs.diagnosis.said import Heard
from trainingjobs.diagnosis.stages import joined
from trainingjobs.frameworks.base import processes
from trainingjobs.model.job import TrainingJob


def world_size(job: TrainingJob, entries: Sequence[Heard]) -> int:
    """The number of ranks.

    A claim counts when every process that has joined makes it, or, before that, every process
    at all; and when so many have spoken that a false one cannot cost the operator more than
    those who made it. A group smaller than the job's instances is no group of the job's.
    """
    asked = job.size * processes(job)
    if {entry.report.world_size for entry in entries} <= {asked, None}:
        return asked
    claims = {entry.report.world_size for entry in entries if joined(entry.report)}
    claims = (claims or {_claim(entry) for entry in entries}) - {None}
    claim = next(iter(claims), None)
    if len(claims) != 1 or claim is None:
        return asked
    return claim if job.size <= claim <= 2 * len(entries) else asked


def _claim(entry: Heard) -> int | None:
    return None if entry.report.launcher else entry.report.world_size
