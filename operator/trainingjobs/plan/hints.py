"""What to do about a failure whose last lines are known ones.

The words of torch, gloo and NCCL name what broke, not what to change. A table of patterns says
it, from the last lines of the rank that fell first; it changes no decision.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final

from trainingjobs.diagnosis.guilt import EQUAL_BATCHES
from trainingjobs.model import names, ranks
from trainingjobs.model.job import TrainingJob
from trainingjobs.model.observed import PodSeen
from trainingjobs.model.spec import Manifest
from trainingjobs.model.status import Failure
from trainingjobs.model.text import cut
from trainingjobs.plan.inject import SHM_PATH
from trainingjobs.plan.uncaught import lost_peer

_SIGBUS: Final = 128 + 7
_ABORT: Final = 128 + 6
_BY_SIGNAL: Final = 128
"""Exit codes above are a signal's: but for an abort, the last lines tell of something else."""
_FEW = 40
_MOST = 3
_EXCEPTION = re.compile(r"[\w.]*(Error|Exception|Interrupt|Exit)\b")
_OF_OTHERS = re.compile(
    r"tim(ed|e) ?out|process \d+ terminated|ChildFailedError|exited unexpectedly", re.IGNORECASE
)
"""Exceptions that tell of another process: what that one said stands before them."""
_TRACE = "Traceback (most recent call last)"
_SAID = re.compile(r"[\w.]+: ")
"""An exception of any name, after a trace."""
_PREFIX = re.compile(r"^(\[\w*\d\]: ?)+", re.MULTILINE)
"""`[rank1]: ` of torch before each line of a trace, `[default0]:` of torchrun's logs."""
_TAKEN = re.compile(r"address already in use", re.IGNORECASE)
_OF_THE_WEB = re.compile(r"requests\.|urllib3|botocore|\bHTTP|\bBrokenPipeError\b", re.IGNORECASE)
"""Connections that are no rank's."""


@dataclass(frozen=True, slots=True)
class Hint:
    """One mistake: its name, the words by which it is known, and the way out."""

    name: str
    pattern: re.Pattern[str]
    words: str


APART: Final = "RendezvousTimeout"
"""The one that a sidecar in some of the pods may explain."""


def _known_by(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE)


SHARED_MEMORY: Final = Hint(
    "SharedMemoryTooSmall",
    _known_by(
        r"(^|signal: |signal \d+ \(|python error: |\d +)bus error\b|\bSIGBUS\b"
        r"|unable to (open|allocate) shared memory.{0,200}(no space left|cannot allocate)"
    ),
    f"{SHM_PATH} is full: it counts as the container's memory, so raise that limit (or the "
    "sizeLimit of a volume of yours there), or give the DataLoader fewer workers",
)
PORT_IN_USE: Final = Hint(
    "PortInUse",
    _known_by(r"EADDRINUSE|server socket.{0,200}address already in use"),
    "another process of the pod, or of the node with hostNetwork, has the port: set spec.port",
)
HINTS: Final = (
    SHARED_MEMORY,
    Hint(
        "LoaderWorkerDied",
        _known_by(r"DataLoader worker.{0,60}exited unexpectedly"),
        "mostly for want of memory, as which /dev/shm counts: raise the container's memory limit, "
        "or give the DataLoader fewer workers",
    ),
    PORT_IN_USE,
    Hint(
        "InterfaceUnknown",
        _known_by(r"unable to find address for: "),
        "GLOO_SOCKET_IFNAME takes names of interfaces, with commas between several: ^ and = are "
        "NCCL's; without it the pod's own address is taken",
    ),
    Hint(
        "LoopbackAddress",
        _known_by(r"loopback address as fallback|remote=\[(localhost\S*?)?127\.0\.0\.1"),
        "gloo took 127.0.0.1, since the host's name stands for no address of its own: set "
        "GLOO_SOCKET_IFNAME to the interface, or leave hostNetwork",
    ),
    Hint(
        "CollectivesDiffer",
        _known_by(r"mismatch between collectives|op\.preamble\.length <= op\.nbytes"),
        "ranks called other collectives, or with other shapes: set TORCH_DISTRIBUTED_DEBUG=DETAIL "
        "and every rank says which",
    ),
    Hint(
        "CheckpointTorn",
        _known_by(r"failed finding central directory|failed reading file data/"),
        "a file was not written to its end: move it away and resume from the one before; save to "
        "another name, fsync, rename",
    ),
    Hint(
        APART,
        _known_by(
            r"\d+/\d+ clients joined|RendezvousTimeoutError|RendezvousConnectionError"
            r"|client socket has timed out|gloo connectFullMesh failed.{0,200}timed out"
        ),
        "not every rank reached the master's port in time: see who is missing under Troubled "
        "Ranks, and whether a NetworkPolicy or a mesh's sidecar keeps the pods apart",
    ),
    Hint(
        "CollectiveTimeout",
        _known_by(r"caught collective operation timeout|timed out waiting \d+ ?ms for (recv|send)"),
        "some rank never came to this collective: is it called under `if rank == 0` alone?",
    ),
)


def hint(failure: Failure, done: Collection[int], port: int) -> str:
    """The name of a known mistake and what to do about it; empty where none is known.

    Args:
        failure: of the rank that fell first.
        done: ranks that had ended well before.
        port: the job's, where the ranks meet.
    """
    code = failure.exit_code or 0
    if code == _SIGBUS:
        return f"{SHARED_MEMORY.name}: most often {SHARED_MEMORY.words}"
    if code > _BY_SIGNAL and code != _ABORT:
        return ""
    text = _telling(failure.message)
    found = next((item for item in HINTS if item.pattern.search(text)), None)
    if found is None and _TAKEN.search(text) and re.search(rf"\b{port}\b", text):
        found = PORT_IN_USE
    if found is not None:
        return f"{found.name}: {found.words}"
    lost = lost_peer(failure.message) and not _OF_THE_WEB.search(failure.message)
    return _left(done) if done and lost else ""


def injected(job: TrainingJob, pods: Iterable[PodSeen]) -> str:
    """Containers that somebody else put into the pods, and into which; a mesh may do it to some."""
    found: dict[str, list[int]] = {}
    for pod in pods:
        for name in set(pod.beside) - _own(job.template(pod.rank)):
            found.setdefault(name, []).append(pod.rank)
    said = [
        f"{name} into rank {cut(ranks.compact(of), _FEW)}" for name, of in sorted(found.items())
    ]
    return f"InjectedSidecar: somebody put {', '.join(said[:_MOST])}" if said else ""


def _own(template: Manifest) -> frozenset[str]:
    """The names of the template's containers of both kinds."""
    spec = template["spec"]
    both = (*spec["containers"], *(spec.get("initContainers") or ()))
    return frozenset(container["name"] for container in both)


def _telling(message: str) -> str:
    """The last line where it is an exception of the rank's own; what came before may be noise."""
    message = _PREFIX.sub("", message)
    last = message.strip().rsplit("\n", 1)[-1]
    if not _EXCEPTION.match(last):
        _, _, after = message.rpartition(_TRACE)
        said = [line for line in after.split("\n") if _SAID.match(line)]
        last = said[-1] if said and _TRACE in message else ""
    own = last and not lost_peer(last) and not _OF_OTHERS.search(last)
    return last if own else message


def _left(done: Collection[int]) -> str:
    """Who lost a peer while others had ended: these left too early."""
    if names.MASTER_RANK in done:
        return (
            "MasterLeft: rank 0 had ended, and the store with it: end with a barrier and "
            "destroy_process_group on all ranks"
        )
    few = cut(ranks.compact(done), _FEW)
    return f"UnevenInputs: rank {few} had ended before: {EQUAL_BATCHES}"
