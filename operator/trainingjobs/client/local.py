"""A group on one machine: the environment of each instance as in its pod, but for addresses.

There is one host, so what tells the instances apart is their ports.
"""

from collections.abc import Iterable, Mapping, Sequence

from trainingjobs import frameworks
from trainingjobs.frameworks.base import Place
from trainingjobs.model.job import Invalid, TrainingJob, parse
from trainingjobs.model.reserved import RESERVED

HOST = "127.0.0.1"
NAME = "local"
_DOMAIN = "cluster.local"
_DEVICES = "CUDA_VISIBLE_DEVICES"
_GROUP = frozenset({*RESERVED, "ROLE_RANK", "ROLE_WORLD_SIZE", "GROUP_WORLD_SIZE"})
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
    group: TrainingJob,
    ports: Sequence[int],
    cpus: int,
    own: Mapping[str, str],
    gpus: Sequence[str] = (),
) -> list[dict[str, str]]:
    """The environment of each instance.

    Args:
        group: whose instances.
        ports: a free one for each; the first is the master's.
        cpus: of this machine, which all processes share.
        own: the caller's environment; what it says of threads wins, and of another group nothing.
        gpus: of this machine, which are shared out: each instance sees its own alone.
    """
    places = [Place(job=group, rank=rank, domain=_DOMAIN) for rank in range(group.size)]
    threads = max(cpus // (group.size * places[0].processes), 1)
    wishes = {"OMP_NUM_THREADS": str(threads), "PYTHONUNBUFFERED": "1"}
    kept = {name: text for name, text in own.items() if not _of_a_group(name)}
    return [
        {**wishes, **kept, **_share(gpus, place), **_environment(place, ports)} for place in places
    ]


def _of_a_group(name: str) -> bool:
    """True for what tells a process who it is in the group that the caller itself belongs to."""
    return name in _GROUP or name.startswith("TORCHELASTIC_")


def _share(gpus: Sequence[str], place: Place) -> dict[str, str]:
    """Every instance is the first of its host, so without this all would take the first device."""
    if not gpus:
        return {}
    each = len(gpus) // place.job.size
    first = place.rank * each if each else place.rank % len(gpus)
    return {_DEVICES: ",".join(gpus[first : first + max(each, 1)])}


def devices(environ: Mapping[str, str], files: Iterable[str]) -> list[str]:
    """The GPUs that the caller may use.

    Args:
        environ: its environment.
        files: names of what is in /dev.
    """
    if (told := environ.get(_DEVICES)) is not None:
        return [name for item in told.split(",") if (name := item.strip())]
    numbers = (name.removeprefix("nvidia") for name in files if name.startswith("nvidia"))
    return sorted((text for text in numbers if text.isdecimal()), key=int)


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
