"""What a command tells a launcher of the group, and how many processes it starts.

torchrun's options win over the environment; accelerate has no environment to take them from; and
RANK and WORLD_SIZE, passed on by hand, count processes here, where they may have counted pods.
"""

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from trainingjobs.convert import texts
from trainingjobs.convert.source import Note
from trainingjobs.model.spec import Manifest

COUNTS = ("PET_NPROC_PER_NODE", "LOCAL_WORLD_SIZE")
_OPTIONS = re.compile(
    r"--(nnodes|nproc[-_]per[-_]node|node[-_]rank|master[-_](?:addr|port)|rdzv[-_]\w+)\b"
    r"(?:(?:=|\s+)[\"']?\$[({]?(?:PET_)?(\w+))?"
)
"""Of torchrun, and the variable that is its value."""
_SERVED = frozenset({"NNODES", "NPROC_PER_NODE", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT"})
_ANYBODYS = frozenset({"node_rank", "master_addr", "master_port"})
"""Options that scripts have as well."""
_VARIABLES = re.compile(r"PET_(?:RDZV_(?!ID$)\w+|STANDALONE)")
_PROCESSES = re.compile(r"--nproc[-_]per[-_]node(?:=|\s+)(\d+)(?![\w.])", re.ASCII)
_DIGITS = 4
_TORCHRUN = re.compile(r"\btorchrun\b|torch\.distributed\.(?:run|launch)\b|\btune run\b")
_DEEPSPEED = re.compile(r"(?:^|[\s;&|/])deepspeed\s+(?:-\S+|\S+\.py\b)")
_BY_DEEPSPEED = (
    "deepspeed starts processes on the hosts of a file, and without one in its own pod alone",
    (
        "use torchrun, whose environment DeepSpeed's library reads (framework PyTorch); or, with "
        "framework MPI, --hostfile=$(TRAININGJOB_HOSTFILE) --launcher=openmpi"
    ),
)
_ACCELERATE = re.compile(r"\baccelerate(?:\.commands\.launch\b|\s+launch\b)")
_ACCELERATES: Mapping[str, str] = MappingProxyType(
    {
        "num_machines": "NNODES",
        "machine_rank": "NODE_RANK",
        "num_processes": "WORLD_SIZE",
        "main_process_ip": "MASTER_ADDR",
        "main_process_port": "MASTER_PORT",
    }
)
"""Of accelerate, and where each stands here."""
_COUNTING: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "RANK": ("is the first rank of the instance", "NODE_RANK is the instance's number"),
        "WORLD_SIZE": ("counts processes, and not instances", "NNODES counts instances"),
    }
)
_COUNTED = re.compile(rf"\$[({{]?({'|'.join(_COUNTING)})\b")


def notes(template: Manifest, path: str, processes: Any) -> list[Note]:
    """What the commands say of the group that the operator knows better.

    Args:
        template: of the TrainingJob.
        path: where it is.
        processes: how many an instance has, None where the job does not say it.
    """
    counting = _counting(template, path) if processes not in {None, 1} else ()
    return [
        *_launched(template, path, processes),
        *_rendezvous(template, path),
        *_accelerated(template, path),
        *counting,
    ]


def rank_is_read(template: Manifest) -> bool:
    """False where torchrun gives each process a rank of its own."""
    return not any(_TORCHRUN.search(text) for _, text in texts.said(template, ""))


def processes(document: Any) -> set[int]:
    """How many processes in each instance the commands and variables in a document tell of."""
    if isinstance(document, list):
        return set().union(*map(processes, document))
    if not isinstance(document, Mapping):
        return set()
    words = texts.line(dict(document))
    found = {int(number) for number in _PROCESSES.findall(words) if len(number) <= _DIGITS}
    value = str(document.get("value") or "")
    if document.get("name") in COUNTS and value.isascii() and value.isdigit():
        found |= {int(value)} if len(value) <= _DIGITS else set()
    return found.union(*map(processes, document.values()))


def _launched(template: Manifest, path: str, processes: Any) -> Iterator[Note]:
    """Options of torchrun and of others that say another group than the operator makes."""
    for at, container in texts.containers(template, path):
        line = texts.line(container)
        found = {
            option: f"--{option}"
            for option, variable in _OPTIONS.findall(line)
            if variable not in _SERVED or _plain(option).upper() != variable
        }
        if _DEEPSPEED.search(line):
            yield Note(f"{at}.command", *_BY_DEEPSPEED)
        elif found and (_TORCHRUN.search(line) or not _ANYBODYS.issuperset(map(_plain, found))):
            yield _torchruns(at, found, processes)
        elif found:
            yield Note(
                f"{at}.command",
                f"{', '.join(found.values())}: the group is another here",
                "take MASTER_ADDR, MASTER_PORT, NNODES and NODE_RANK from the environment",
            )


def _plain(option: str) -> str:
    return option.replace("-", "_")


def _torchruns(at: str, found: Mapping[str, str], processes: Any) -> Note:
    counts = processes is None and any("nproc" in option for option in found)
    few = len(found) == 1
    return Note(
        f"{at}.command",
        f"{', '.join(found.values())} {'wins' if few else 'win'} over the operator's PET_*",
        ("set spec.processesPerInstance: N, then " if counts else "")
        + f"leave {'it' if few else 'them'} out: torchrun needs none",
    )


def _rendezvous(template: Manifest, path: str) -> Iterator[Note]:
    """Variables that are torchrun's options as well."""
    for at, container in texts.containers(template, path):
        for item in container.get("env") or []:
            if _VARIABLES.fullmatch(item["name"]):
                yield Note(
                    f"{at}.env.{item['name']}",
                    "it wins over the operator's PET_MASTER_ADDR and PET_MASTER_PORT",
                    "leave it out, but where torchrun itself makes its group anew "
                    "(examples/08-torchrun-elastic)",
                )


def _accelerated(template: Manifest, path: str) -> Iterator[Note]:
    """Where options of accelerate are missing, or say something else of the group."""
    for at, container in texts.containers(template, path):
        line = texts.line(container)
        if not _ACCELERATE.search(line):
            continue
        wrong = [
            f"--{option}=$({variable})"
            for option, variable in _ACCELERATES.items()
            if not _given(line, option, variable)
        ]
        if wrong:
            yield Note(
                f"{at}.command",
                "accelerate is told of the group by its options, and not by variables",
                f"give it {' '.join(wrong)}",
            )


def _given(line: str, option: str, variable: str) -> bool:
    name = option.replace("_", "[-_]")
    return re.search(rf"--{name}(?:=|\s+)[\"']?\$[({{]?{variable}\b", line) is not None


def _counting(template: Manifest, path: str) -> Iterator[Note]:
    """RANK and WORLD_SIZE in a command, where an instance has several processes."""
    for where, text in texts.said(template, path):
        for name in dict.fromkeys(_COUNTED.findall(text)):
            why, instead = _COUNTING[name]
            yield Note(where, f"{name} {why} here", instead)
