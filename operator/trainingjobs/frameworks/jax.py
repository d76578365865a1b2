"""JAX: `jax.distributed.initialize()` without arguments finds its group here.

JAX reads the coordinator's address from a variable of its own, but the number of processes and
the process's own number only from the environments of launchers that it knows. Slurm's is the
one that means nothing else to anybody; JAX has read it since 0.4. JAX_NUM_PROCESSES and
JAX_PROCESS_ID are for scripts that pass them on.

As under Slurm, a process has the one GPU of its local number, unless JAX_LOCAL_DEVICE_IDS says
otherwise: it does, for an instance's only process.

Source: jax/_src/distributed.py, jax/_src/clusters/slurm_cluster.py.
"""

from typing import Final

from trainingjobs.frameworks.base import Environment, Place
from trainingjobs.model import containers

MOST_GPUS: Final = 64
"""More than any machine has: a slip in a limit is not to make a variable of megabytes."""


def environment(place: Place) -> Environment:
    """Variables of one instance."""
    count, first = str(place.world_size), str(place.first_rank)
    return {
        "JAX_COORDINATOR_ADDRESS": f"{place.address()}:{place.job.spec.port}",
        "JAX_NUM_PROCESSES": count,
        "JAX_PROCESS_ID": first,
        "SLURM_JOB_ID": "1",
        "SLURM_STEP_NODELIST": place.address(),
        "SLURM_NTASKS": count,
        "SLURM_PROCID": first,
        "SLURM_LOCALID": "0",
        **_devices(place),
    }


def _devices(place: Place) -> Environment:
    gpus = containers.gpus(place.job.template(place.rank))
    if place.processes > 1 or not 1 <= gpus <= MOST_GPUS:
        return {}
    return {"JAX_LOCAL_DEVICE_IDS": ",".join(map(str, range(gpus)))}
