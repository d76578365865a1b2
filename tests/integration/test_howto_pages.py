"""What docs/howto/kueue.md and docs/howto/elastic.md tell people to type, as it stands there.

The lines are taken out of the pages and run by a shell, with the operator beside the API server;
the test is the kubelet, and after a line's work is done it looks whether the page has said it.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from integration import cases
from integration.jobs import Body
from integration.operators import eventually
from integration.reader import Reader
from integration.server import ApiServer
from integration.test_operator import Lab
from pages import blocks

pytestmark = pytest.mark.integration

DOCS = blocks.ROOT / "docs"
ACTIVE = ("pending", "starting", "running", "terminating")
"""Instances that hold what was admitted: Kueue waits until there are none."""
KUEUE, ELASTIC = DOCS / "howto/kueue.md", DOCS / "howto/elastic.md"


class Player(Reader):
    """Plays the kubelet of one job as well."""

    def __init__(self, lab: Lab, job: str, folder: Path) -> None:
        super().__init__(lab.server, lab.namespace, folder)
        self.lab, self.job = lab, job

    @property
    def status(self) -> Body:
        """What the job says."""
        return self.lab.status_of(self.job)

    def until(self, attempt: int, size: int) -> Body:
        """Its status, once this attempt has so many pods and all of them run."""
        names = [f"{self.job}-master", *(f"{self.job}-worker-{it}" for it in range(size - 1))]
        eventually(lambda: self.status.get("attempt") == attempt)
        eventually(lambda: sorted(self.lab.pods) == names)
        for name in names:
            self.lab.tell(name, {"running": {"startedAt": "2026-01-01T00:00:00Z"}}, "Running")
        eventually(lambda: self.status.get("ready") == f"{size}/{size}")
        eventually(lambda: self.status.get("phase") == "Running")
        return self.status

    def until_suspended(self) -> None:
        """It has no pods, and says so."""
        eventually(lambda: self.status.get("phase") == "Suspended")
        eventually(lambda: not self.lab.pods)

    def patch(self, **body: Any) -> None:
        """Change several things in one write."""
        cases.do(self.lab, "patch", "trainingjob", self.job, "--type=merge", "-p", json.dumps(body))


@pytest.fixture
def lab(apiserver: ApiServer, tmp_path: Path) -> Iterator[Lab]:
    with cases.stage(apiserver, tmp_path) as lab:
        yield lab


def test_a_job_is_suspended_and_resumed_as_the_page_of_kueue_says(lab: Lab, tmp_path: Path) -> None:
    apply, suspend, resume = blocks.shown(KUEUE)
    reader = Player(lab, "ddp", tmp_path)
    reader.types(apply)
    reader.until(attempt=1, size=3)
    reader.types(suspend)
    reader.until_suspended()
    assert "`kubectl tj why`" in KUEUE.read_text()
    reader.patch(metadata={"labels": {"kueue.x-k8s.io/queue-name": "gpus"}})
    assert "Kueue queue, which nothing here reads" in reader.types("kubectl tj why ddp")
    assert reader.status["phase"] == "Suspended", "a label resumes nothing"
    reader.types(resume)
    status = reader.until(attempt=2, size=3)
    assert (status["restarts"], status["disruptions"]) == (0, 0)
    reader.has_typed(KUEUE)


def test_whoever_admits_a_job_sets_what_kueue_would_set(lab: Lab, tmp_path: Path) -> None:
    """Admitted with a flavor and a smaller size, evicted, and admitted elsewhere as it was."""
    reader = Player(lab, "ddp", tmp_path)
    job = yaml.safe_load((blocks.ROOT / "examples/01-ddp/job.yaml").read_text())
    job["spec"]["suspend"] = True
    lab.apply(job)
    reader.until_suspended()
    reader.patch(spec=admitted("spot", 2))
    first = reader.until(attempt=1, size=2)
    assert pools(lab) == {"spot"}
    reader.patch(spec={**admitted(None, 3), "suspend": True})
    reader.until_suspended()
    eventually(lambda: not any(reader.status["instances"][name] for name in ACTIVE))
    reader.patch(spec=admitted("reserved", 3))
    second = reader.until(attempt=2, size=3)
    assert pools(lab) == {"reserved"}
    for status in (first, second):
        assert (status["restarts"], status["disruptions"]) == (0, 0)


def admitted(pool: str | None, size: int) -> Body:
    """What one write says of the nodes and the size."""
    nodes = {"spec": {"nodeSelector": {"pool": pool}}}
    return {"suspend": False, "PARALLEL_INSTANCES": size, "template": nodes}


def pools(lab: Lab) -> set[str]:
    """The nodes that its pods ask for."""
    pods = lab.core.list_namespaced_pod(lab.namespace).items
    return {(pod.spec.node_selector or {}).get("pool") for pod in pods}


@pytest.mark.parametrize("way", ["the line", "what stands behind it"])
def test_a_group_is_scaled_as_the_page_of_elastic_groups_says(
    lab: Lab, tmp_path: Path, way: str
) -> None:
    claim, apply, scale, wait = blocks.shown(ELASTIC)
    reader = Player(lab, "elastic", tmp_path)
    reader.types(claim)
    reader.types(apply)
    before = reader.until(attempt=1, size=3)
    assert before["groupSize"] == 3
    other = re.search(r"# or: (kubectl tj .+)", scale)
    assert other is not None
    reader.types(scale if way == "the line" else other[1])
    status = reader.until(attempt=2, size=2)
    assert status["groupSize"] == 2
    assert (status["restarts"], status["disruptions"]) == (0, 0), "nothing is charged"
    assert [past["reason"] for past in status["attempts"]] == ["Scaled"]
    for name in lab.pods:
        lab.end(name, 0)
    assert "condition met" in reader.types(wait)
    assert reader.status["phase"] == "Succeeded"
    if way == "the line":
        reader.has_typed(ELASTIC)


def test_the_job_that_the_page_of_elastic_groups_shows_is_taken(lab: Lab, tmp_path: Path) -> None:
    (text,) = (body for language, body in blocks.blocks(ELASTIC.read_text()) if language == "yaml")
    said = Player(lab, "elastic", tmp_path).types("kubectl apply --dry-run=server -f -", text)
    assert "elastic created (server dry run)" in said
