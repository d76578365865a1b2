"""What is deleted goes, and nothing of it comes back; the test is the garbage collector."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.cases import do, stage, where
from integration.jobs import a_job
from integration.operators import eventually
from integration.server import ApiServer
from integration.test_operator import NAMES, Lab

pytestmark = pytest.mark.integration

QUIET_SECONDS = 2.0
NO_OWNER = '{"metadata":{"ownerReferences":null}}'
NO_FINALIZER = '{"metadata":{"finalizers":null}}'


@pytest.fixture
def lab(apiserver: ApiServer, tmp_path: Path) -> Iterator[Lab]:
    with stage(apiserver, tmp_path) as here:
        yield here


def collect_pods(lab: Lab) -> None:
    """What the garbage collector and the kubelet do in the end."""
    do(lab, "delete", "pods", "--all", "--grace-period=0", "--force", "--wait=false")


def silence(lab: Lab) -> None:
    """The operator writes nothing for a while."""
    lab.operator.forget_requests()
    time.sleep(QUIET_SECONDS)
    assert lab.operator.writes() == []


def test_nothing_of_ours_holds_anything_back(lab: Lab) -> None:
    lab.apply(a_job())
    lab.until_created()
    assert lab.operator.stop() == 0
    kinds = "trainingjobs,pods,services"
    held = do(lab, "get", kinds, "-o", "jsonpath={.items[*].metadata.finalizers}")
    assert held == ""
    do(lab, "delete", "trainingjob", "job", "--timeout=5s")
    lab.operator.start()
    silence(lab)
    assert sorted(lab.pods) == NAMES, "what is left is the garbage collector's business"


def test_nothing_is_made_in_a_namespace_that_leaves(lab: Lab) -> None:
    lab.apply(a_job())
    lab.until_created()
    lab.run_all()
    lab.until_phase("Running")
    lab.operator.forget_requests()
    lab.core.delete_namespace(lab.namespace)
    collect_pods(lab)
    eventually(lambda: lab.status["message"] == "the namespace is being deleted")
    time.sleep(5)
    assert not lab.pods
    assert len(lab.operator.writes("/pods")) < 20
    assert lab.operator.log().count("refused") < 8
    do(lab, "delete", "trainingjob", "job", "--timeout=5s")
    time.sleep(1)
    silence(lab)


def test_a_job_that_is_deleted_and_made_anew_waits_for_the_pods_of_before(lab: Lab) -> None:
    lab.apply(a_job())
    before = lab.until_created()
    do(lab, "patch", "pod", "job-master", "-p", '{"metadata":{"finalizers":["test.dev/hold"]}}')
    do(lab, "delete", "trainingjob", "job")
    collect_pods(lab)
    do(lab, "delete", "service", "job")
    lab.apply(a_job())
    eventually(lambda: "job-master of before is still" in lab.status.get("message", ""))
    time.sleep(6)
    assert lab.pods["job-master"] == before["job-master"]
    assert lab.status["phase"] == "Pending"
    do(lab, "patch", "pod", "job-master", "-p", NO_FINALIZER)
    freed = time.monotonic()
    eventually(
        lambda: sorted(lab.pods) == NAMES and not set(lab.pods.values()) & set(before.values())
    )
    assert time.monotonic() - freed < 4
    eventually(lambda: lab.status["message"] == "")
    assert (lab.status["attempt"], lab.status["disruptions"]) == (1, 0)


def test_orphans_are_left_alone_and_never_taken_in_again(lab: Lab) -> None:
    lab.apply(a_job())
    before = lab.until_created()
    do(lab, "delete", "trainingjob", "job", "--cascade=orphan", "--wait=false")
    silence(lab)
    for thing in (*(f"pod/{name}" for name in NAMES), "service/job"):
        do(lab, "patch", thing, "-p", NO_OWNER)
    do(lab, "patch", "trainingjob", "job", "--type=merge", "-p", NO_FINALIZER)
    eventually(lambda: not lab.custom.list_namespaced_custom_object(*where(lab))["items"])
    lab.apply(a_job())
    eventually(lambda: "does not belong to this job" in lab.status.get("message", ""))
    assert lab.pods == before


def test_a_job_that_waits_for_its_pods_deletion_gets_no_new_ones(lab: Lab) -> None:
    lab.apply(a_job())
    lab.until_created()
    do(lab, "delete", "trainingjob", "job", "--cascade=foreground", "--wait=false")
    time.sleep(0.5)
    lab.operator.forget_requests()
    collect_pods(lab)
    time.sleep(QUIET_SECONDS)
    assert not lab.pods
    assert lab.operator.writes() == []
