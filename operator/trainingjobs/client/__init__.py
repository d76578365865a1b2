"""The SDK: `TrainingJobClient` for scripts and notebooks, `AsyncTrainingJobClient` for servers.

Nothing is loaded before it is asked for, so that what needs no cluster needs no client.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trainingjobs.client.aio import AsyncTrainingJobClient
    from trainingjobs.client.errors import ClientError
    from trainingjobs.client.function import distributed
    from trainingjobs.client.job import Job
    from trainingjobs.client.script import Script
    from trainingjobs.client.sync import TrainingJobClient

_HOMES = {
    "AsyncTrainingJobClient": "aio",
    "ClientError": "errors",
    "Job": "job",
    "Script": "script",
    "TrainingJobClient": "sync",
    "distributed": "function",
}
__all__ = [
    "AsyncTrainingJobClient",
    "ClientError",
    "Job",
    "Script",
    "TrainingJobClient",
    "distributed",
]


def __getattr__(name: str) -> object:
    """The class of this name, from the module that has it."""
    from importlib import import_module  # noqa: PLC0415  only for those who ask

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
