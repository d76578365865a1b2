"""The operator against a real API server; the test is the kubelet."""

import itertools
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client

from integration.jobs import Body, a_job
from integration.operators import Served, eventually, operator
from integration.server import ApiServer

pytestmark = pytest.mark.integration

NAMES = ["job-master", "job-worker-0", "job-worker-1"]
_numbers = itertools.count()


class Lab(Served):
    """Hands to play user and kubelet of one job."""

    def patch_spec(self, **spec: Any) -> None:
        """The user changes the job."""
        where = ("trainingjob.dev", "v1", self.namespace, "trainingjobs", "job")
        self.custom.patch_namespaced_custom_object(*where, {"spec": spec})

    @property
    def status(self) -> Body:
        """The job's status."""
        return self.status_of("job")

    @property
    def pods(self) -> dict[str, str]:
        """Names and uids of all pods."""
        listed = self.core.list_namespaced_pod(self.namespace).items
        return {pod.metadata.name: pod.metadata.uid for pod in listed}

    @property
    def reasons(self) -> set[str]:
        """Of the events that are there."""
        return {event.reason for event in self.core.list_namespaced_event(self.namespace).items}

    def until_created(self) -> dict[str, str]:
        """The pods, once they are all there and the status says so."""
        eventually(lambda: sorted(self.pods) == NAMES)
        eventually(lambda: self.status.get("replicas") == 3)
        return self.pods

    def until_phase(self, phase: str) -> Body:
        """The status, once it has this phase."""
        eventually(lambda: self.status.get("phase") == phase)
        return self.status

    def tell(self, name: str, state: Body, phase: str) -> None:
        """The kubelet tells of a pod."""
        statuses = [
            {
                "name": "trainer",
                "image": "i",
                "imageID": "",
                "ready": True,
                "restartCount": 0,
                "state": state,
            }
        ]
        scheduled = {"type": "PodScheduled", "status": "True"}
        status = {"phase": phase, "conditions": [scheduled], "containerStatuses": statuses}
        self.core.patch_namespaced_pod_status(name, self.namespace, {"status": status})

    def run_all(self) -> None:
        """All pods run."""
        for name in NAMES:
            self.tell(name, {"running": {"startedAt": "2026-01-01T00:00:00Z"}}, "Running")

    def end(self, name: str, code: int) -> None:
        """One training container ends."""
        ended = {
            "exitCode": code,
            "reason": "Error" if code else "Completed",
            "startedAt": "2026-01-01T00:00:00Z",
            "finishedAt": "2026-01-01T00:01:00Z",
        }
        self.tell(name, {"terminated": ended}, "Failed" if code else "Succeeded")


@pytest.fixture
def lab(apiserver: ApiServer, tmp_path: Path) -> Iterator[Lab]:
    with operator(apiserver, f"operator-{next(_numbers)}", tmp_path) as served:
        here = Lab(apiserver, served)
        yield here
        assert not served.refused()
        assert "Traceback" not in served.log()


def test_a_job_gets_its_objects_once_and_then_there_is_silence(lab: Lab) -> None:
    lab.operator.forget_requests()
    lab.apply(a_job())
    lab.until_created()
    time.sleep(3)
    base = f"/api/v1/namespaces/{lab.namespace}"
    own = "?fieldManager=trainingjob-operator"
    assert lab.operator.writes(base + "/pods") == [("create", f"{base}/pods{own}")] * 3
    assert lab.operator.writes(base + "/services") == [("create", f"{base}/services{own}")]
    assert len(lab.operator.writes("trainingjobs/job/status")) == 1
    lab.operator.forget_requests()
    time.sleep(5)
    assert lab.operator.writes() == []


def test_a_job_runs_to_its_end(lab: Lab) -> None:
    lab.operator.forget_requests()
    lab.apply(a_job())
    lab.until_created()
    lab.run_all()
    status = lab.until_phase("Running")
    assert status["ready"] == "3/3"
    for name in NAMES:
        lab.end(name, 0)
    status = lab.until_phase("Succeeded")
    assert status["succeededRanks"] == "0-2"
    assert sorted(lab.pods) == NAMES
    assert len(lab.operator.writes("trainingjobs/job/status")) <= 6
    eventually(lambda: {"PodsCreated", "Running", "Succeeded"} <= lab.reasons)  # after the status


def test_a_failed_rank_restarts_the_group(lab: Lab) -> None:
    lab.apply(a_job())
    before = lab.until_created()
    lab.run_all()
    lab.until_phase("Running")
    lab.end("job-worker-0", 1)
    eventually(lambda: lab.status["attempt"] == 2 and sorted(lab.pods) == NAMES)
    eventually(lambda: not set(before.values()) & set(lab.pods.values()))
    status = lab.status
    assert status["restarts"] == 1
    assert status["failure"]["rank"] == 1
    assert status["failure"]["exitCode"] == 1


def test_an_operator_that_is_killed_makes_nothing_twice(lab: Lab) -> None:
    lab.apply(a_job())
    before = lab.until_created()
    lab.operator.stop(signal.SIGKILL)
    lab.operator.forget_requests()
    lab.operator.start()
    time.sleep(3)
    assert lab.pods == before
    assert lab.operator.writes() == []


def test_what_happens_while_the_operator_is_away_is_seen(lab: Lab) -> None:
    lab.apply(a_job())
    before = lab.until_created()
    assert lab.operator.stop(signal.SIGTERM) == 0
    lab.core.delete_namespaced_pod("job-worker-1", lab.namespace, grace_period_seconds=0)
    lab.operator.start()
    eventually(lambda: lab.status["attempt"] == 2 and sorted(lab.pods) == NAMES)
    eventually(lambda: not set(before.values()) & set(lab.pods.values()))
    assert lab.status["disruptions"] == 1


def test_a_stop_is_quick(lab: Lab) -> None:
    lab.apply(a_job())
    lab.until_created()
    began = time.monotonic()
    assert lab.operator.stop(signal.SIGTERM) == 0
    assert time.monotonic() - began < 8


def foreign_pod() -> Body:
    """Somebody else's pod of a name that we want."""
    container = {"name": "c", "image": "i"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "job-worker-0"},
        "spec": {"containers": [container]},
    }


def test_a_name_that_is_taken_is_said_and_waited_for(lab: Lab) -> None:
    lab.apply(foreign_pod())
    uid = lab.pods["job-worker-0"]
    lab.apply(a_job())
    eventually(lambda: "job-worker-0" in lab.status.get("message", ""))
    conditions = {it["type"]: it for it in lab.status["conditions"]}
    assert conditions["Running"]["reason"] == "NameConflict"
    assert lab.pods["job-worker-0"] == uid
    lab.core.delete_namespaced_pod("job-worker-0", lab.namespace, grace_period_seconds=0)
    lab.until_created()
    eventually(lambda: lab.status["message"] == "")


def test_a_quota_is_said_in_the_servers_words(lab: Lab) -> None:
    meta = client.V1ObjectMeta(name="few")
    hard = {"pods": "0"}
    quota = client.V1ResourceQuota(metadata=meta, spec=client.V1ResourceQuotaSpec(hard=hard))
    lab.core.create_namespaced_resource_quota(lab.namespace, quota)
    full = {"status": {"hard": hard, "used": {"pods": "0"}}}
    lab.core.patch_namespaced_resource_quota_status("few", lab.namespace, full)
    time.sleep(1)
    lab.apply(a_job())
    eventually(lambda: "exceeded quota: few" in lab.status.get("message", ""))
    lab.core.delete_namespaced_resource_quota("few", lab.namespace)
    lab.until_created()


@pytest.mark.parametrize(
    ("field", "value"), [("imagePullPolicy", "Sometimes"), ("resource", {"limits": {"gpu": 1}})]
)
def test_a_template_that_is_no_pod_fails_with_the_servers_words(
    lab: Lab, field: str, value: object
) -> None:
    """A wrong value, and a misspelt name that would be dropped without a word."""
    body = a_job()
    body["spec"]["template"]["spec"]["containers"][0][field] = value
    lab.apply(body)
    status = lab.until_phase("Failed")
    assert field in status["message"]
    assert not lab.pods


def test_a_suspended_job_has_no_pods_and_goes_on(lab: Lab) -> None:
    lab.apply(a_job())
    lab.until_created()
    lab.patch_spec(suspend=True)
    lab.until_phase("Suspended")
    eventually(lambda: not lab.pods)
    lab.patch_spec(suspend=False)
    lab.until_created()


def ports(lab: Lab) -> list[int]:
    """The ports of the job's service."""
    return [port.port for port in lab.core.read_namespaced_service("job", lab.namespace).spec.ports]


def test_a_service_follows_its_job_to_another_port(lab: Lab) -> None:
    """It is the same service with the new port alone, before the first pod is made again."""
    lab.apply(a_job())
    lab.until_created()
    uid = lab.core.read_namespaced_service("job", lab.namespace).metadata.uid
    lab.patch_spec(suspend=True)
    eventually(lambda: not lab.pods)
    lab.operator.forget_requests()
    lab.patch_spec(suspend=False, port=1031)
    lab.until_created()
    service = lab.core.read_namespaced_service("job", lab.namespace)
    assert (service.metadata.uid, ports(lab)) == (uid, [1031])
    assert service.spec.ports[0].target_port == 1031
    made = [(verb, url.split("?")[0].rpartition("/")[2]) for verb, url in lab.operator.writes()]
    at_all = [write for write in made if write[1] in {"pods", "job"}]
    assert at_all == [("patch", "job"), *[("create", "pods")] * 3]


def test_a_service_that_somebody_changed_is_set_right_once(lab: Lab) -> None:
    lab.apply(a_job())
    lab.until_created()
    eventually(lambda: lab.status_of("job").get("phase") == "Pending")
    time.sleep(1)  # its event follows
    lab.operator.forget_requests()
    theirs = [{"name": "http", "port": 80}, {"name": "https", "port": 443}]
    lab.core.patch_namespaced_service("job", lab.namespace, {"spec": {"ports": theirs}})
    eventually(lambda: ports(lab) == [29500])
    time.sleep(2)
    base = f"/api/v1/namespaces/{lab.namespace}/services/job"
    assert lab.operator.writes() == [("patch", f"{base}?fieldManager=trainingjob-operator")]


def test_a_finished_job_goes_when_its_time_is_over(lab: Lab) -> None:
    lab.apply(a_job(ttlSecondsAfterFinished=1))
    lab.until_created()
    for name in NAMES:
        lab.end(name, 0)
    where = ("trainingjob.dev", "v1", lab.namespace, "trainingjobs")
    eventually(lambda: not lab.custom.list_namespaced_custom_object(*where)["items"])
