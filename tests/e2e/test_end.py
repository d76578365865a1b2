"""How jobs end and what is left of them: deadlines, clean-up, time to live, deletion."""

import pytest

from e2e import jobs
from e2e.deployed import Operator
from e2e.harness import Namespace

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

GONE_SECONDS = 30
MASTER_LEAVES = "import os, time; time.sleep(3600 if os.environ['RANK'] != '0' else 2)"


def test_a_deleted_job_leaves_nothing(lab: Namespace) -> None:
    lab.apply(jobs.a_job("gone", 3, jobs.a_template(jobs.SLEEP)))
    lab.wait_for_phase("gone", "Running")
    lab.kubectl("delete", "trainingjob", "gone", "--wait=false")
    for kind in ("trainingjobs", "pods", "services"):
        lab.wait(kind, lambda seen: not seen, seconds=GONE_SECONDS)


def test_a_namespace_goes_while_the_operator_is_down(lab: Namespace, operator: Operator) -> None:
    lab.apply(jobs.a_job("orphan", 2, jobs.a_template(jobs.SLEEP)))
    lab.wait_for_phase("orphan", "Running")
    with operator.stopped():
        lab.cluster.kubectl("delete", "namespace", lab.name, "--timeout=120s")


def test_a_job_that_takes_too_long_fails(lab: Namespace) -> None:
    lab.apply(jobs.a_job("late", 2, jobs.a_template(jobs.SLEEP), activeDeadlineSeconds=8))
    status = lab.wait_for_end("late")
    assert status["phase"] == "Failed"
    assert {item["reason"] for item in status["conditions"] if item["type"] == "Failed"} == {
        "DeadlineExceeded"
    }
    lab.wait("pods", lambda pods: not pods, job="late")


def test_a_finished_job_goes_when_its_time_is_over(lab: Namespace) -> None:
    lab.apply(jobs.a_job("short", 1, jobs.a_template("pass"), ttlSecondsAfterFinished=2))
    lab.wait_for_end("short")
    for kind in ("trainingjobs", "pods", "services"):
        lab.wait(kind, lambda seen: not seen, seconds=GONE_SECONDS)


@pytest.mark.parametrize(
    ("policy", "left"),
    [
        ("Running", {"clean-master"}),
        ("All", set()),
        ("None", {"clean-master", "clean-worker-0"}),
    ],
)
def test_the_policy_says_which_pods_stay(lab: Namespace, policy: str, left: set[str]) -> None:
    lab.apply(
        jobs.a_job(
            "clean",
            2,
            jobs.a_template(MASTER_LEAVES),
            cleanPodPolicy=policy,
            successPolicy="Master",
        )
    )
    status = lab.wait_for_end("clean")
    assert status["phase"] == "Succeeded", status["message"]
    lab.wait("pods", lambda pods: set(pods) == left, job="clean")
