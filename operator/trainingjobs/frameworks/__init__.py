"""One module for each framework: which environment makes its ranks find each other. Pure."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from trainingjobs.frameworks import jax, plain, pytorch, tensorflow
from trainingjobs.frameworks.base import Environment, Place
from trainingjobs.model import names
from trainingjobs.model.spec import Framework

_ENVIRONMENTS: Mapping[Framework, Callable[[Place], Environment]] = MappingProxyType(
    {
        Framework.PYTORCH: pytorch.environment,
        Framework.TENSORFLOW: tensorflow.environment,
        Framework.JAX: jax.environment,
        Framework.NONE: plain.environment,
    }
)


def supported(framework: Framework) -> bool:
    """False for a framework that the resource names and this version cannot run yet."""
    return framework in _ENVIRONMENTS


def environment(place: Place) -> Environment:
    """All variables that make the group, for one instance.

    Raises:
        KeyError: when the framework is not supported.
    """
    job = place.job
    return {
        "PARALLEL_INSTANCES": str(job.size),
        "TRAININGJOB_NAME": job.name,
        "TRAININGJOB_ATTEMPT": str(job.attempt),
        "TRAININGJOB_ROLE": names.role(place.rank),
        **_ENVIRONMENTS[job.spec.framework](place),
    }
