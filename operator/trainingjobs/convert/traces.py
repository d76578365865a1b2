"""What a command still says of the world that it comes from: names and files that are not here.

Nothing is rewritten: a command is the user's. But a script that waits for a pod of the old name
would wait for ever, so it is told.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from trainingjobs.convert.source import Note
from trainingjobs.model.spec import Framework, Manifest

_WORLD: Mapping[str, str] = MappingProxyType(
    {
        "/etc/mpi": "mpirun finds the hosts by itself; what does not reads TRAININGJOB_HOSTFILE",
        "/etc/volcano": "take the addresses from MASTER_ADDR and TRAININGJOB_WORKER_ADDR",
        "VC_TASK_INDEX": "read RANK",
        "VK_TASK_INDEX": "read RANK",
        "JOB_COMPLETION_INDEX": "read RANK",
        "JOB_INDEX": "read RANK",
        "PET_RDZV_ENDPOINT": "torchrun takes PET_MASTER_ADDR and PET_MASTER_PORT by itself",
    }
)
_OPTIONS = re.compile(
    r"--(?:nnodes|nproc[-_]per[-_]node|node[-_]rank|master[-_](?:addr|port)|rdzv[-_]\w+)\b"
)
"""Of torchrun; they win over the environment."""
_VOLCANO = re.compile(r"\b(?:MPI_HOST|V[CK]_[A-Z0-9_]{1,63}_(?:HOSTS|NUM))\b")
_ADDRESSES = (
    "mpirun finds its hosts by itself; others take PARALLEL_INSTANCES addresses from MASTER_ADDR "
    "and TRAININGJOB_WORKER_ADDR"
)
_PROCESSES = re.compile(r"--nproc[-_]per[-_]node(?:=|\s+)(\d+)(?![\w.])", re.ASCII)
_DIGITS = 4
COUNTS = ("PET_NPROC_PER_NODE", "LOCAL_WORLD_SIZE")
_HINTS: Sequence[tuple[Framework, tuple[str, ...]]] = (
    (Framework.MPI, ("mpirun", "mpiexec", "horovodrun")),
    (Framework.JAX, ("jax", "COORDINATOR_ADDRESS")),
    (Framework.TENSORFLOW, ("TF_CONFIG", "tensorflow", "keras")),
    (Framework.PYTORCH, ("torch", "MASTER_ADDR", "accelerate", "deepspeed", "RANK")),
)


def notes(template: Manifest, job_name: str, path: str, *, counted: bool) -> list[Note]:
    """What the containers of a template say of things that are not there.

    Args:
        template: the foreign one, or the converted one.
        job_name: the foreign job's name, with which its pods' names begin.
        path: where the template is.
        counted: whether the job says how many processes an instance has.
    """
    pods = re.compile(rf"\b{re.escape(job_name)}-[a-z0-9-]{{0,63}}\d\b") if job_name else None
    found: dict[tuple[str, str], str] = {}
    for where, text in _texts(template, path):
        for match in pods.findall(text) if pods else ():
            found[where, match] = "use MASTER_ADDR, or TRAININGJOB_WORKER_ADDR for a worker"
        found |= {(where, word): do for word, do in _WORLD.items() if word in text}
        found |= {(where, word): _ADDRESSES for word in _VOLCANO.findall(text)}
    absent = [Note(where, f"there is no {word} here", do) for (where, word), do in found.items()]
    return absent + _options(template, path, counted=counted)


def _options(template: Manifest, path: str, *, counted: bool) -> list[Note]:
    """Options that say of the group what the operator knows better."""
    return [
        Note(
            where,
            f"{option} wins over the operator's PET_*",
            "leave it out: torchrun needs none"
            if counted or "nproc" not in option
            else "set spec.processesPerInstance: N, then leave it out",
        )
        for where, text in _texts(template, path)
        for option in dict.fromkeys(_OPTIONS.findall(text))
    ]


def processes(document: Any) -> set[int]:
    """How many processes in each instance the commands and variables in a document tell of."""
    if isinstance(document, list):
        return set().union(*map(processes, document))
    if not isinstance(document, Mapping):
        return set()
    items = [document.get(part) for part in ("command", "args")]
    words = " ".join(str(word) for item in items if isinstance(item, list) for word in item)
    found = {int(number) for number in _PROCESSES.findall(words) if len(number) <= _DIGITS}
    value = str(document.get("value") or "")
    if document.get("name") in COUNTS and value.isascii() and value.isdigit():
        found |= {int(value)} if len(value) <= _DIGITS else set()
    return found.union(*map(processes, document.values()))


def framework(*sources: Any) -> Framework | None:
    """Whose words stand in a manifest; None where nobody's do."""
    text = repr(sources)
    return next((name for name, words in _HINTS if any(word in text for word in words)), None)


def _texts(template: Manifest, path: str) -> Iterator[tuple[str, str]]:
    spec = template["spec"]
    for kind in ("initContainers", "containers"):
        for container in spec.get(kind) or []:
            at = f"{path}.{kind}.{container['name']}"
            for part in ("command", "args"):
                items = container.get(part)
                for item in items if isinstance(items, list) else []:
                    yield f"{at}.{part}", str(item)
            for item in container.get("env") or []:
                yield f"{at}.env.{item['name']}", str(item.get("value") or "")
