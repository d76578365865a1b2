"""Cases of which only real kubelets, schedulers and kernels know how they look."""

import json

import pytest

from e2e import jobs
from e2e.harness import Manifest, Namespace

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

LONG_THEN_SHORT = jobs.a_template(STEPS="600,2")
GREEDY = """
import os, time
if os.environ["RANK"] == "1":
    held = []
    while True:
        held.append(b"x" * 2**22)
time.sleep(3600)
"""


def container(template: Manifest, **changes: object) -> Manifest:
    """The template's container with other fields."""
    made: Manifest = {**template["spec"]["containers"][0], **changes}
    return made


def test_an_evicted_pod_restarts_the_group_at_no_charge(lab: Namespace) -> None:
    lab.apply(jobs.a_job("drain", 3, LONG_THEN_SHORT, maxRestarts=0))
    lab.wait_for_line("drain-master", "step 1")
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": "drain-worker-0", "namespace": lab.name},
    }
    path = f"/api/v1/namespaces/{lab.name}/pods/drain-worker-0/eviction"
    lab.kubectl("create", "--raw", path, "-f", "-", stdin=json.dumps(eviction))
    status = lab.wait_for_end("drain")
    assert status["phase"] == "Succeeded", status["message"]
    assert (status["attempt"], status["restarts"], status["disruptions"]) == (2, 0, 1)
    failure = status["attempts"][0]["failure"]
    assert (failure["rank"], failure["reason"]) == (1, "EvictionByEvictionAPI")


def test_a_rank_that_takes_too_much_memory_is_named(lab: Namespace) -> None:
    template = jobs.a_template(GREEDY)
    limited = {"limits": {"memory": "64Mi"}, "requests": {"cpu": "10m", "memory": "16Mi"}}
    template["spec"]["containers"] = [container(template, resources=limited)]
    lab.apply(jobs.a_job("greedy", 3, template, maxRestarts=0))
    status = lab.wait_for_end("greedy")
    assert status["phase"] == "Failed"
    failure = status["failure"]
    assert (failure["rank"], failure["exitCode"], failure["reason"]) == (1, 137, "OOMKilled")
    assert "rank 1 (greedy-worker-0" in status["message"]
    assert "OOMKilled" in status["message"]


def test_a_misspelt_image_is_put_right_by_deleting_and_applying(lab: Namespace) -> None:
    wrong = "registry.invalid/my/trianer:1"
    lab.apply(jobs.a_job("typo", 2, jobs.a_template(image=wrong)))
    lab.wait_for("typo", lambda status: wrong in status.get("message", ""))
    lab.kubectl("delete", "trainingjob", "typo")
    lab.apply(jobs.a_job("typo", 2))
    status = lab.wait_for_end("typo")
    assert status["phase"] == "Succeeded", status["message"]
    assert (status["attempt"], status["disruptions"]) == (1, 0)


def test_two_groups_with_room_for_one_run_one_after_the_other(lab: Namespace) -> None:
    lab.apply(jobs.a_quota(4))
    for name in ("one", "other"):
        lab.apply(jobs.a_job(name, 3, placementTimeoutSeconds=3))
    ends = [lab.wait_for_end(name) for name in ("one", "other")]
    assert [status["phase"] for status in ends] == ["Succeeded", "Succeeded"]
    assert {status["restarts"] for status in ends} == {0}


def test_a_sidecar_that_never_ends_keeps_no_job_from_its_end(lab: Namespace) -> None:
    template = jobs.a_template()
    forever = container(template, name="proxy", command=["python", "-c", jobs.SLEEP])
    template["spec"]["containers"].append(forever)
    lab.apply(jobs.a_job("mesh", 2, template))
    status = lab.wait_for_end("mesh")
    assert status["phase"] == "Succeeded", status["message"]
    lab.wait("pods", lambda pods: not pods, job="mesh")


def test_an_init_container_that_fails_is_a_failure_of_its_rank(lab: Namespace) -> None:
    template = jobs.a_template()
    fetch = container(template, name="fetch", command=["python", "-c", "raise SystemExit(4)"])
    template["spec"]["initContainers"] = [fetch]
    lab.apply(jobs.a_job("fetch", 2, template, maxRestarts=1))
    status = lab.wait_for_end("fetch")
    assert status["phase"] == "Failed"
    assert (status["failure"]["exitCode"], status["failure"]["reason"]) == (4, "Init:Error")
    assert (status["attempt"], status["restarts"]) == (2, 1)
