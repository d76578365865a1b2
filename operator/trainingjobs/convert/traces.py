"""What a command still says of the world that it comes from: names and files that are not here.

Nothing is rewritten: a command is the user's. But a script that waits for a pod of the old name
would wait for ever, so it is told.
"""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from trainingjobs.convert import texts
from trainingjobs.convert.source import Note
from trainingjobs.model.spec import Framework, Manifest

_WORLD: Mapping[str, str] = MappingProxyType(
    {
        "/etc/mpi": "mpirun finds the hosts by itself; what does not reads TRAININGJOB_HOSTFILE",
        "/etc/volcano": "take the addresses from MASTER_ADDR and TRAININGJOB_WORKER_ADDR",
        **dict.fromkeys(
            ("VC_TASK_INDEX", "VK_TASK_INDEX", "JOB_COMPLETION_INDEX", "JOB_INDEX"),
            "read RANK, or NODE_RANK where an instance has several processes",
        ),
        **dict.fromkeys(
            ("PET_RDZV_ENDPOINT", "PET_RDZV_BACKEND"),
            "torchrun takes PET_MASTER_ADDR and PET_MASTER_PORT by itself",
        ),
    }
)
_VOLCANO = re.compile(r"\b(?:MPI_HOST|V[CK]_[A-Z0-9_]{1,63}_(?:HOSTS|NUM))\b")
_ADDRESSES = (
    "mpirun finds its hosts by itself; others take PARALLEL_INSTANCES addresses from MASTER_ADDR "
    "and TRAININGJOB_WORKER_ADDR"
)
_HINTS: Sequence[tuple[Framework, tuple[str, ...]]] = (
    (Framework.MPI, ("mpirun", "mpiexec", "horovodrun")),
    (Framework.JAX, ("jax", "COORDINATOR_ADDRESS")),
    (Framework.TENSORFLOW, ("TF_CONFIG", "tensorflow", "keras")),
    (Framework.PYTORCH, ("torch", "MASTER_ADDR", "accelerate", "deepspeed", "RANK")),
)


def notes(template: Manifest, job_name: str, path: str) -> list[Note]:
    """What the containers of a template say of things that are not there.

    Args:
        template: the foreign one, or the converted one.
        job_name: the foreign job's name, with which its pods' names begin.
        path: where the template is.
    """
    pods = re.compile(rf"\b{re.escape(job_name)}-[a-z0-9-]{{0,63}}\d\b") if job_name else None
    found: dict[tuple[str, str], str] = {}
    own = {
        item["name"]
        for _, container in texts.containers(template, path)
        for item in container.get("env") or []
    }
    for where, text in texts.said(template, path):
        for match in pods.findall(text) if pods else ():
            found[where, match] = "use MASTER_ADDR, or TRAININGJOB_WORKER_ADDR for a worker"
        found |= {
            (where, word): do for word, do in _WORLD.items() if word in text and word not in own
        }
        found |= {(where, word): _ADDRESSES for word in _VOLCANO.findall(text)}
    told = [Note(where, f"there is no {word} here", do) for (where, word), do in found.items()]
    return told + _mounts(template, path)


def _mounts(template: Manifest, path: str) -> list[Note]:
    """Mounts of volumes that somebody else would have added to the pods."""
    there = {item["name"] for item in template["spec"].get("volumes") or []}
    missing = {
        str(mount.get("name")): at
        for at, container in texts.containers(template, path)
        for mount in container.get("volumeMounts") or []
        if str(mount.get("name")) not in there
    }
    return [
        Note(
            f"{at}.volumeMounts.{name}",
            "no volume of the template is called so: the API server refuses such a pod",
            f"add it to {path}.spec.volumes, with a claim",
        )
        for name, at in missing.items()
    ]


def framework(*sources: Any) -> Framework | None:
    """Whose words stand in a manifest; None where nobody's do."""
    text = repr(sources)
    return next((name for name, words in _HINTS if any(word in text for word in words)), None)
