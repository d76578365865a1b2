"""Horovod: MPI's environment, since horovodrun starts its processes as mpirun does, by ssh.

horovodrun takes its hosts from options alone: `horovodrun -np $(WORLD_SIZE) --hostfile
$(TRAININGJOB_HOSTFILE) python train.py`. Its ranks get `HOROVOD_RANK` from it, or MPI's own.

Source: horovod.runner.launch.
"""

from trainingjobs.frameworks import mpi
from trainingjobs.frameworks.base import Environment, Place


def wishes(place: Place) -> Environment:
    """The launchers' own options: what a template says of them wins."""
    return mpi.wishes(place)


def environment(place: Place) -> Environment:
    """Variables of one instance; all but its own name are the same for all of them."""
    return mpi.environment(place)
