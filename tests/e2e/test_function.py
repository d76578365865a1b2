"""A function of a notebook's cell becomes a job on real pods, and its ranks find each other."""

import linecache
from typing import Any

import pytest

from e2e.harness import Namespace
from e2e.jobs import IMAGE
from trainingjobs.client import TrainingJobClient, distributed

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

CELL = f"""
@distributed(image={IMAGE!r}, instances=3, user=1000, memory="512Mi")
def train(epochs: int, words: str) -> None:
    import torch
    import torch.distributed as dist

    dist.init_process_group("gloo")
    found = torch.tensor(dist.get_rank())
    for _ in range(epochs):
        dist.all_reduce(found)
    print(words, dist.get_world_size(), found.item())
    dist.destroy_process_group()
"""


def run_cell(text: str, **names: Any) -> dict[str, Any]:
    """What a cell defines: a notebook keeps its text where Python looks for sources."""
    name = "<cell 1>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    found = dict(names)
    exec(compile(text, name, "exec"), found)  # noqa: S102  as a notebook does
    return found


def test_a_function_trains(lab: Namespace) -> None:
    train = run_cell(CELL, distributed=distributed)["train"]
    kubeconfig = str(lab.cluster.kubeconfig)
    with TrainingJobClient(namespace=lab.name, kubeconfig=kubeconfig) as client:
        name = train.submit(client, epochs=2, words="it's 'me'")
        job = client.wait_for_job_status(name, timeout=240)
        lines = list(client.get_job_logs(name))
    assert (job.succeeded, job.size) == (True, 3)
    assert sorted(line.rank for line in lines) == [0, 1, 2]
    # 0 + 1 + 2, and once more by all three
    assert {line.text for line in lines} == {"it's 'me' 3 9"}
