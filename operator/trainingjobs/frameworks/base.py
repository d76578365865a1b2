"""What every framework shares: how processes are counted and where the master listens."""

from dataclasses import dataclass

from trainingjobs.model import containers, names
from trainingjobs.model.job import TrainingJob

Environment = dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where one instance stands in its group."""

    job: TrainingJob
    rank: int
    """The instance's number, 0 for the master."""
    domain: str
    """The cluster's DNS domain."""

    @property
    def processes(self) -> int:
        """Training processes in each instance.

        The worker's template decides for all, so that ranks stay evenly numbered.
        """
        return processes(self.job)

    @property
    def world_size(self) -> int:
        """Training processes in the whole group."""
        return self.job.size * self.processes

    @property
    def first_rank(self) -> int:
        """The global rank of this instance's first process."""
        return self.rank * self.processes

    @property
    def worker_address(self) -> str:
        """The workers' names as printf's pattern: their number stands for `%d`."""
        return self.address(1).replace("-worker-0.", "-worker-%d.", 1)

    def address(self, rank: int = names.MASTER_RANK) -> str:
        """The fully qualified name of an instance; the master's by default."""
        return names.address(self.job.name, self.job.namespace, rank, self.domain)


def processes(job: TrainingJob) -> int:
    """Processes per instance."""
    return containers.processes(job.spec)
