"""What is at rest costs nothing, what is over stays over, and time alone is enough for a limit."""

import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.cases import do, stage, where
from integration.jobs import Body, a_job
from integration.operators import eventually
from integration.server import ApiServer
from integration.test_operator import NAMES, Lab

pytestmark = pytest.mark.integration

IDLE_SECONDS = 10.0


@pytest.fixture
def lab(apiserver: ApiServer, tmp_path: Path) -> Iterator[Lab]:
    with stage(apiserver, tmp_path) as here:
        yield here


def job(lab: Lab, name: str = "job") -> Body:
    found: Body = lab.custom.get_namespaced_custom_object(*where(lab), name)
    return found


def finished(lab: Lab) -> dict[str, float]:
    """How many jobs this operator has seen to finish, by result."""
    with urllib.request.urlopen(f"http://127.0.0.1:{lab.operator.port}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    told = [line for line in lines if line.startswith("trainingjob_operator_jobs_finished_total{")]
    return {line.split('"')[1]: float(line.rpartition(" ")[2]) for line in told}


def test_what_is_over_stays_over_whatever_is_taken_away(lab: Lab) -> None:
    assert finished(lab) == {"Succeeded": 0, "Failed": 0}
    lab.apply(a_job())
    lab.until_created()
    for name in NAMES:
        lab.end(name, 0)
    lab.until_phase("Succeeded")
    assert finished(lab) == {"Succeeded": 1, "Failed": 0}
    before = job(lab)
    assert lab.operator.stop() == 0
    do(lab, "delete", "pods,services", "--all", "--grace-period=0", "--force")
    lab.operator.forget_requests()
    lab.operator.start()
    time.sleep(3)
    assert job(lab) == before
    assert not lab.pods
    assert lab.operator.writes() == []
    assert finished(lab) == {"Succeeded": 0, "Failed": 0}


def test_a_time_to_live_that_ends_while_the_operator_is_away_is_kept(lab: Lab) -> None:
    lab.apply(a_job(ttlSecondsAfterFinished=2))
    lab.until_created()
    for name in NAMES:
        lab.end(name, 0)
    lab.until_phase("Succeeded")
    lab.operator.stop()
    time.sleep(3)
    lab.operator.start()
    eventually(lambda: not lab.custom.list_namespaced_custom_object(*where(lab))["items"], 5)


def test_jobs_at_rest_cost_no_write(lab: Lab) -> None:
    lab.apply(a_job())
    lab.until_created()
    for name in NAMES:
        lab.end(name, 0)
    lab.until_phase("Succeeded")
    lab.apply(a_job("stopped", suspend=True))
    lab.apply(a_job("busy", PARALLEL_INSTANCES=1))
    eventually(lambda: "busy-master" in lab.pods)
    lab.tell("busy-master", {"running": {"startedAt": "2026-01-01T00:00:00Z"}}, "Running")
    lab.apply(a_job("waits", PARALLEL_INSTANCES=1))
    phases = {"stopped": "Suspended", "busy": "Running", "waits": "Pending"}
    for name, phase in phases.items():
        eventually(lambda n=name, p=phase: job(lab, n).get("status", {}).get("phase") == p)  # type: ignore[misc]
    time.sleep(3)
    lab.operator.forget_requests()
    time.sleep(IDLE_SECONDS)
    assert lab.operator.writes() == []


def test_the_table_tells_of_a_stop_and_of_what_comes_after(lab: Lab) -> None:
    lab.apply(a_job())
    lab.until_created()
    lab.run_all()
    lab.until_phase("Running")
    lab.patch_spec(suspend=True)
    lab.until_phase("Suspended")
    lab.patch_spec(suspend=False)
    eventually(lambda: sorted(lab.pods) == NAMES and lab.status["phase"] == "Pending")
    lab.run_all()
    lab.until_phase("Running")
    heads, row = (line.split() for line in do(lab, "get", "trainingjobs").splitlines())
    told = dict(zip(heads, row, strict=False))
    assert (told["PHASE"], told["READY"]) == ("Running", "3/3")
    found = {item["type"]: item["status"] for item in lab.status["conditions"]}
    assert (found["Suspended"], found["Running"]) == ("False", "True")


def test_a_deadline_is_kept_though_no_scheduler_ever_looks_at_the_pods(lab: Lab) -> None:
    lab.apply(a_job(activeDeadlineSeconds=3))
    lab.until_created()
    status = lab.until_phase("Failed")
    assert status["message"] == "not finished 3 s after its start"
    eventually(lambda: not lab.pods)


def test_a_rank_that_fell_while_the_operator_was_away_restarts_its_group(lab: Lab) -> None:
    lab.apply(a_job(maxRestarts=1))
    before = lab.until_created()
    lab.run_all()
    lab.until_phase("Running")
    lab.operator.stop()
    lab.end("job-worker-0", 3)
    lab.operator.start()
    eventually(lambda: lab.status["attempt"] == 2)
    eventually(lambda: not set(before.values()) & set(lab.pods.values()) and len(lab.pods) == 3)
    assert (lab.status["restarts"], lab.status["failure"]["exitCode"]) == (1, 3)
