"""One module for each framework: which environment makes its ranks find each other. Pure."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from trainingjobs.frameworks import horovod, jax, mpi, plain, pytorch, tensorflow
from trainingjobs.frameworks.base import Environment, Place
from trainingjobs.model import names
from trainingjobs.model.spec import Framework

_ENVIRONMENTS: Mapping[Framework, Callable[[Place], Environment]] = MappingProxyType(
    {
        Framework.PYTORCH: pytorch.environment,
        Framework.TENSORFLOW: tensorflow.environment,
        Framework.JAX: jax.environment,
        Framework.MPI: mpi.environment,
        Framework.HOROVOD: horovod.environment,
        Framework.NONE: plain.environment,
    }
)
_WISHES: Mapping[Framework, Callable[[Place], Environment]] = MappingProxyType(
    {Framework.MPI: mpi.wishes, Framework.HOROVOD: horovod.wishes}
)


def launched(framework: Framework) -> bool:
    """True where a command of the master starts the ranks of all instances."""
    return framework in {Framework.MPI, Framework.HOROVOD}


def wishes(place: Place) -> Environment:
    """What the training container gets besides, unless its template says otherwise."""
    wanted = _WISHES.get(place.job.spec.framework)
    return {} if wanted is None else wanted(place)


def environment(place: Place) -> Environment:
    """All variables that make the group, for one instance."""
    job = place.job
    return {
        "PARALLEL_INSTANCES": str(job.size),
        "TRAININGJOB_NAME": job.name,
        "TRAININGJOB_ATTEMPT": str(job.attempt),
        "TRAININGJOB_ROLE": names.role(place.rank),
        **_ENVIRONMENTS[job.spec.framework](place),
    }
