"""PyTorch: `env://` for plain scripts and spawned processes, `PET_*` for torchrun.

torchrun reads every option from a variable of its own (`PET_` and the option's name), so
a command of `torchrun train.py` needs no flag. RANK is the first global rank of the
instance: the rank itself where an instance has one process, the base for those it spawns.

Source: torch.distributed environment variable initialization; torch.distributed.run.
"""

from trainingjobs.frameworks.base import Environment, Place


def environment(place: Place) -> Environment:
    """Variables of one instance."""
    return _group(place) | _torchrun(place)


def _group(place: Place) -> Environment:
    return {
        "MASTER_ADDR": place.address(),
        "MASTER_PORT": str(place.job.spec.port),
        "WORLD_SIZE": str(place.world_size),
        "RANK": str(place.first_rank),
        "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": str(place.processes),
        "NODE_RANK": str(place.rank),
        "GROUP_RANK": str(place.rank),
        "NNODES": str(place.job.size),
    }


def _torchrun(place: Place) -> Environment:
    return {
        "PET_NNODES": str(place.job.size),
        "PET_NPROC_PER_NODE": str(place.processes),
        "PET_NODE_RANK": str(place.rank),
        "PET_MASTER_ADDR": place.address(),
        "PET_MASTER_PORT": str(place.job.spec.port),
        "PET_RDZV_ID": f"{place.job.uid}-{place.job.attempt}",
    }
