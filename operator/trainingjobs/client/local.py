"""A group on one machine: the environment of each instance as in its pod, but for addresses.

There is one host, so what tells the instances apart is their ports.
"""

from collections.abc import Mapping, Sequence

from trainingjobs import frameworks
from trainingjobs.frameworks.base import Place
from trainingjobs.model.job import Invalid, TrainingJob, parse

HOST = "127.0.0.1"
NAME = "local"
_DOMAIN = "cluster.local"
_PORTS = ("MASTER_PORT", "PET_MASTER_PORT")


def job(instances: int, processes: int, framework: str) -> TrainingJob | Invalid:
    """The job that the processes of this machine are the group of."""
    container = {"name": "trainer", "image": NAME}
    return parse(
        {
            "metadata": {"name": NAME, "namespace": NAME, "uid": NAME},
            "spec": {
                "PARALLEL_INSTANCES": instances,
                "processesPerInstance": processes,
                "framework": framework,
                "template": {"spec": {"containers": [container]}},
            },
        }
    )


def environments(
    group: TrainingJob, ports: Sequence[int], cpus: int, own: Mapping[str, str]
) -> list[dict[str, str]]:
    """The environment of each instance.

    Args:
        group: whose instances.
        ports: a free one for each; the first is the master's.
        cpus: of this machine, which all processes share.
        own: the caller's environment; what it says of threads wins.
    """
    places = [Place(job=group, rank=rank, domain=_DOMAIN) for rank in range(group.size)]
    threads = max(cpus // (group.size * places[0].processes), 1)
    wishes = {"OMP_NUM_THREADS": str(threads), "PYTHONUNBUFFERED": "1"}
    return [{**wishes, **own, **_environment(place, ports)} for place in places]


def _environment(place: Place, ports: Sequence[int]) -> dict[str, str]:
    found = {
        name: _here(text, place, ports) for name, text in frameworks.environment(place).items()
    }
    return {**found, **{name: str(ports[0]) for name in _PORTS if name in found}}


def _here(text: str, place: Place, ports: Sequence[int]) -> str:
    port = place.job.spec.port
    for rank, own in enumerate(ports):
        text = text.replace(f"{place.address(rank)}:{port}", f"{HOST}:{own}")
    return text.replace(place.worker_address, HOST).replace(place.address(), HOST)


def command(python: str, script: str, args: Sequence[str], *, torchrun: bool) -> list[str]:
    """What an instance runs: the script, or torchrun that starts several of it."""
    launcher = ["-m", "torch.distributed.run"] if torchrun else []
    return [python, *launcher, script, *args]


def exit_code(found: int) -> int:
    """As a shell tells it: a signal's number and 128."""
    return 128 - found if found < 0 else found
