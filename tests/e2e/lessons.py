"""What the checks of the examples share: a job as it is committed, and what its ranks report.

A check is a test, and it is marked with its example's folder. `make examples` and `make test` run
the same ones (see `table`).
"""

import json
from pathlib import Path
from typing import Any, Self

import pytest
import yaml

from e2e.harness import Manifest, Namespace
from e2e.rollcall.history import History, alarms, holds

EXAMPLES = Path(__file__).parents[2] / "examples"
TRAIN_SIZE = 1440
EVERY_SAMPLE_ONCE = 2**TRAIN_SIZE - 1

Report = dict[str, Any]


def example(folder: str, **env: str) -> Manifest:
    """An example's job, as it is committed but for these variables."""
    job: Manifest = yaml.safe_load((EXAMPLES / folder / "job.yaml").read_text())
    container = job["spec"]["template"]["spec"]["containers"][0]
    others = [item for item in container.get("env", []) if item["name"] not in env]
    own = [{"name": name, "value": value} for name, value in env.items()]
    container["env"] = [*others, *own]
    return job


def trained(lab: Namespace, job: Manifest) -> list[Report]:
    """What each rank of a job reports in the end, by rank; nothing wrong was ever said of it."""
    with Watched(lab, job):
        return finished(lab, job)


def finished(lab: Namespace, job: Manifest) -> list[Report]:
    """What each rank of a job that is under way reports in the end, by rank."""
    name = job["metadata"]["name"]
    status = lab.wait_for_end(name)
    assert status["phase"] == "Succeeded", status["message"]
    logs = [lab.kubectl("logs", pod) for pod in lab.objects("pods", name)]
    told = [json.loads(line) for log in logs for line in log.splitlines() if line[:1] == "{"]
    return sorted(told, key=lambda report: report["rank"])


class Watched:
    """A job from its creation on, with all that the roll call says of it."""

    def __init__(self, lab: Namespace, job: Manifest) -> None:
        self.lab, self.job = lab, job
        self.history = History(lab)

    def __enter__(self) -> Self:
        self.history.begin()
        self.lab.apply(self.job)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        name = self.job["metadata"]["name"]
        self.history.end(lambda: self.lab.kubectl("annotate", "trainingjob", name, "over=true"))
        if kind is None:
            check_calm([said.status for said in self.history.of(name)])


def check_calm(said: list[Manifest]) -> None:
    """No finding, at no time; and a group that can be heard of has come together."""
    for status in said:
        assert not alarms(status), status["findings"]
        for about, truth in (
            ("Stalled", "True"),
            ("DataSharded", "False"),
            ("ModelWrapped", "False"),
        ):
            assert not holds(about, truth)(status), status["message"]
    spoken = any(holds("Registered", "False")(status) for status in said)
    assert not spoken or any(map(holds("Registered"), said)), "Registered was never True"


def check_losses(reports: list[Report], alone: Report, *, epochs: int | None = None) -> str:
    """The losses are those of one process that had all the data; the last one, in words."""
    told = [report["losses"] for report in reports if report.get("losses")]
    assert told
    for losses in told:
        assert losses == pytest.approx(alone["losses"][:epochs], abs=1e-4)
    return f"loss {told[0][-1]:.4f}, as of one process"


def check_samples(reports: list[Report]) -> None:
    """Every sample was seen exactly once in an epoch, and each epoch was shuffled anew.

    With as many terms as samples, powers of two add up to all bits set only if none is twice
    there.
    """
    epochs = [[int(report["seen"][epoch], 16) for report in reports] for epoch in (0, -1)]
    for shares in epochs:
        assert sum(shares) == EVERY_SAMPLE_ONCE
        assert [share.bit_count() for share in shares] == [TRAIN_SIZE // len(reports)] * len(shares)
    first, last = epochs
    assert first != last


def check_ranks(reports: list[Report], size: int) -> None:
    """Each rank has reported once, and knows how many there are."""
    assert [report["rank"] for report in reports] == list(range(size))
    assert {report["world_size"] for report in reports} == {size}


def check_replicas(reports: list[Report]) -> str:
    """All replicas are equal to the last bit; their digest."""
    (digest,) = {report["parameters_sha256"] for report in reports}
    assert isinstance(digest, str)
    return digest
