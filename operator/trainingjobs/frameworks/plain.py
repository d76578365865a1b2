"""No framework: the rank, the size of the group, and everybody's address, for any program.

The names are those that most programs know from PyTorch. The address of a worker is a pattern
for printf, since a list of ten thousand would be longer than Linux lets a variable be.
"""

from trainingjobs.frameworks.base import Environment, Place


def environment(place: Place) -> Environment:
    """Variables of one instance."""
    return {
        "MASTER_ADDR": place.address(),
        "MASTER_PORT": str(place.job.spec.port),
        "WORLD_SIZE": str(place.world_size),
        "RANK": str(place.first_rank),
        "LOCAL_WORLD_SIZE": str(place.processes),
        "TRAININGJOB_WORKER_ADDR": place.worker_address,
    }
