"""The operator may be killed at any moment: another goes on, makes nothing twice, ends nothing."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from e2e import jobs
from e2e.deployed import Operator
from e2e.harness import Namespace

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]


@contextmanager
def recorded(lab: Namespace, kind: str, file: Path) -> Iterator[None]:
    """Record all that happens to the objects of a kind meanwhile."""
    command = lab.cluster.command("get", "--raw", lab.path(kind, "watch=true"))
    with file.open("w") as output, subprocess.Popen(command, stdout=output) as watch:
        try:
            yield
        finally:
            watch.kill()


def made(file: Path) -> set[str]:
    """The uids of all objects in a record."""
    events = (json.loads(line) for line in file.read_text().splitlines() if line.endswith("}"))
    return {event["object"]["metadata"]["uid"] for event in events}


def test_a_killed_operator_is_not_missed(
    lab: Namespace, operator: Operator, tmp_path: Path
) -> None:
    pods, services = tmp_path / "pods", tmp_path / "services"
    with recorded(lab, "pods", pods), recorded(lab, "services", services):
        lab.apply(jobs.a_job("calm", 3, jobs.a_template(STEPS="25")))
        operator.replace()  # as the job has just come
        lab.wait("pods", bool, job="calm")
        operator.replace()  # as its pods come
        lab.wait_for_phase("calm", "Running")
        operator.kill()  # as it runs
        status = lab.wait_for_end("calm")
        operator.replace()  # as it has ended
        operator.wait_until_ready()
    assert status["phase"] == "Succeeded", status["message"]
    assert (status["attempt"], status["restarts"], status["disruptions"]) == (1, 0, 0)
    assert len(made(pods)) == 3
    assert len(made(services)) == 1
    assert lab.status("calm") == status


def test_a_restart_is_counted_once_whoever_counts_it(
    lab: Namespace, operator: Operator, tmp_path: Path
) -> None:
    record = tmp_path / "pods"
    template = jobs.a_template(STEPS="600,4", FAIL="1:3,-1:0")
    with recorded(lab, "pods", record):
        lab.apply(jobs.a_job("storm", 3, template))
        lab.wait_for_line("storm-worker-0", "rank 1 has no data")
        operator.replace()  # before or after it has seen the failure
        lab.wait_for("storm", lambda status: status.get("attempt") == 2)
        operator.replace()  # as the old pods go
        status = lab.wait_for_end("storm")
    assert status["phase"] == "Succeeded", status["message"]
    assert (status["attempt"], status["restarts"], status["disruptions"]) == (2, 1, 0)
    assert len(made(record)) == 6
    operator.wait_until_ready()
