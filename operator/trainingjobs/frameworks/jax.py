"""JAX: where the coordinator listens, how many processes there are, and which one this is.

Source: jax.distributed.initialize.
"""

from trainingjobs.frameworks.base import Environment, Place


def environment(place: Place) -> Environment:
    """Variables of one instance."""
    return {
        "JAX_COORDINATOR_ADDRESS": f"{place.address()}:{place.job.spec.port}",
        "JAX_NUM_PROCESSES": str(place.world_size),
        "JAX_PROCESS_ID": str(place.first_rank),
    }
