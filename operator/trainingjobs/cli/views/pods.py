"""Pods in one word and one row each, as far as people care."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from trainingjobs.cli.views import text
from trainingjobs.client import containers
from trainingjobs.client.job import Job, Manifest
from trainingjobs.model import labels, names
from trainingjobs.model.times import parse_time

MAX_ROWS = 64
_HEADER = ("RANK", "POD", "NODE", "STATE", "AGE")
_HEARD = ("STAGE", "STEP", "STANDS AT")


def state(pod: Manifest) -> str:
    """What the pod does, in one word: kubectl's, but for the training container alone."""
    if pod["metadata"].get("deletionTimestamp"):
        return "Terminating"
    status = pod.get("status") or {}
    found = containers.state(pod)
    if ended := found.get("terminated"):
        code = ended.get("exitCode", 0)
        word = ended.get("reason") or ("Completed" if code == 0 else "Error")
        return str(word) if code == 0 else f"{word} ({code})"
    if "waiting" in found:
        return str(found["waiting"].get("reason") or "Waiting")
    return str(status.get("reason") or status.get("phase") or "Unknown")


def rank(pod: Manifest) -> int:
    """The instance's number."""
    return containers.number(pod, labels.RANK)


def rows(job: Job, pods: Iterable[Manifest], now: datetime) -> list[Sequence[str]]:
    """The header and a row for each instance; those in trouble come first where there are many."""
    by_rank = {rank(pod): pod for pod in pods}
    trouble = {str(item.get("pod")): item for item in job.status.get("troubledRanks") or []}
    shown = sorted(by_rank.keys() | set(range(min(job.size, MAX_ROWS))))
    bad = {number for number, pod in by_rank.items() if pod["metadata"]["name"] in trouble}
    chosen = sorted(sorted(shown, key=lambda number: number not in bad)[:MAX_ROWS])
    heard = trouble or None
    return [
        (*_HEADER, *(_HEARD if heard else ())),
        *(_row(job, number, by_rank.get(number), now, heard) for number in chosen),
    ]


def _row(
    job: Job,
    number: int,
    pod: Manifest | None,
    now: datetime,
    trouble: Mapping[str, Manifest] | None,
) -> Sequence[str]:
    name = names.pod(job.name, number) if pod is None else str(pod["metadata"]["name"])
    node = ((pod or {}).get("spec") or {}).get("nodeName") or text.NONE
    made = None if pod is None else parse_time(pod["metadata"].get("creationTimestamp"))
    first = (str(number), name, str(node), "-" if pod is None else state(pod))
    cells = (*first, text.since(made, now))
    if trouble is None:
        return cells
    said = trouble.get(name, {})
    at = str(said.get("line") or "")
    waits = f"{said['waitsIn']} at {at}" if said.get("waitsIn") else at
    return (*cells, str(said.get("stage") or ""), str(said.get("step") or ""), waits)
