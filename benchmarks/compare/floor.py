"""The requests of the raw floor: the pods of our own plan, without an owner."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from benchmarks.compare.kinds import TRAINING_JOB, Json
from trainingjobs.handlers.reporter import site
from trainingjobs.model.job import TrainingJob, parse
from trainingjobs.model.observed import Observed
from trainingjobs.model.site import Site
from trainingjobs.plan.decide import decide
from trainingjobs.settings import Settings


@cache
def _site() -> Site:
    return site(Settings(report_url="http://127.0.0.1:8081/api/v1/reports"))


def pods(namespace: str, name: str, number: int, node: str = "") -> Iterator[Json]:
    """The pods that our operator would make for such a job."""
    body = TRAINING_JOB.body(name, number, node)
    body["metadata"] |= {"namespace": namespace, "uid": f"uid-{name}", "generation": 1}
    job = parse(body)
    assert isinstance(job, TrainingJob)  # noqa: S101 - our own body
    decision = decide(job, Observed(), datetime.now(UTC), _site())
    for manifest in decision.create:
        if manifest["kind"] == "Pod":
            metadata = {k: v for k, v in manifest["metadata"].items() if k != "ownerReferences"}
            yield {**manifest, "metadata": metadata}


def write(file: Path, namespace: str, sizes: dict[str, int], node: str = "") -> None:
    """One line for each pod of these jobs: the path and the body."""
    path = f"/api/v1/namespaces/{namespace}/pods"
    with file.open("w") as lines:
        for name, number in sizes.items():
            for body in pods(namespace, name, number, node):
                lines.write(f"{path} {json.dumps(body, separators=(',', ':'))}\n")
