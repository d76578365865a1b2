"""A job's life on real pods: its group is whole, stands up as a group, and names who fell."""

import json
from typing import Any

import pytest

from e2e import jobs
from e2e.harness import Manifest, Namespace
from trainingjobs.model import labels

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

LONG_THEN_SHORT = jobs.a_template(STEPS="600,2")


@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_a_group_has_one_master_and_all_know_the_same(lab: Namespace, size: int) -> None:
    lab.apply(jobs.a_job("group", size))
    status = lab.wait_for_end("group")
    assert status["phase"] == "Succeeded", status["message"]
    assert status["ready"] == f"{size}/{size}"

    pods = lab.ranks("group")
    assert sorted(pods) == list(range(size))
    roles = {rank: pod["metadata"]["labels"][labels.ROLE] for rank, pod in pods.items()}
    assert roles == {rank: "worker" if rank else "master" for rank in range(size)}
    (service,) = lab.objects("services", "group").values()
    assert service["spec"]["clusterIP"] == "None"

    told = [_told(lab, pod) for pod in pods.values()]
    assert sorted(int(one.pop("RANK")) for one in told) == list(range(size))
    assert told == [
        {
            "WORLD_SIZE": str(size),
            "MASTER_ADDR": f"group-master.group.{lab.name}.svc.cluster.local",
            "MASTER_PORT": "29500",
            "TRAININGJOB_ATTEMPT": "1",
        }
    ] * size  # fmt: skip


def test_the_table_tells_where_a_job_stands(lab: Namespace) -> None:
    lab.apply(jobs.a_job("table", 2, LONG_THEN_SHORT))
    lab.wait_for_phase("table", "Running")
    heads, row = (line.split() for line in lab.kubectl("get", "trainingjobs").splitlines())
    told = dict(zip(heads, row, strict=False))
    assert told["NAME"] == "table"
    assert told["PHASE"] == "Running"
    assert told["READY"] == "2/2"
    environment = lab.kubectl("exec", "table-worker-0", "--", "env").splitlines()
    assert {"RANK=1", "WORLD_SIZE=2", "PARALLEL_INSTANCES=2"} <= set(environment)


@pytest.mark.parametrize(("pod", "rank"), [("life-worker-1", 2), ("life-master", 0)])
def test_a_deleted_pod_restarts_the_group_at_no_charge(lab: Namespace, pod: str, rank: int) -> None:
    lab.apply(jobs.a_job("life", 3, LONG_THEN_SHORT, maxRestarts=0))
    lab.wait_for_line("life-master", "step 1")
    before = _uids(lab, "life")
    lab.kubectl("delete", "pod", pod, "--wait=false")

    status = lab.wait_for_end("life")
    assert status["phase"] == "Succeeded", status["message"]
    assert _counters(status) == {"attempt": 2, "restarts": 0, "disruptions": 1}
    assert before.isdisjoint(_uids(lab, "life")), "a pod of the first attempt lived on"
    (first,) = status["attempts"]
    assert first["attempt"] == 1
    assert first["failure"]["rank"] == rank
    assert first["failure"]["pod"] == pod


def test_a_failing_rank_is_named_when_restarts_are_spent(lab: Namespace) -> None:
    lab.apply(jobs.a_job("fail", 3, jobs.a_template(FAIL="1:3"), maxRestarts=1))
    status = lab.wait_for_end("fail")
    assert status["phase"] == "Failed"
    assert _counters(status) == {"attempt": 2, "restarts": 1, "disruptions": 0}
    failure = status["failure"]
    assert (failure["rank"], failure["exitCode"], failure["pod"]) == (1, 3, "fail-worker-0")
    assert failure["message"].strip().splitlines()[-1] == "rank 1 has no data"
    assert failure["node"]
    assert "rank 1" in status["message"]
    assert "rank 1 has no data" in status["message"]
    assert _condition(status, "Failed")["reason"] == "MaxRestartsExceeded"
    assert _condition(status, "Finished")["status"] == "True"


def test_a_failure_rule_ends_the_job_at_once(lab: Namespace) -> None:
    rules = [{"exitCodes": [3], "action": "Fail"}]
    lab.apply(jobs.a_job("rule", 2, jobs.a_template(FAIL="1:3"), failureRules=rules))
    status = lab.wait_for_end("rule")
    assert status["phase"] == "Failed"
    assert _counters(status) == {"attempt": 1, "restarts": 0, "disruptions": 0}


def test_a_job_is_suspended_and_goes_on(lab: Namespace) -> None:
    lab.apply(jobs.a_job("pause", 2, LONG_THEN_SHORT, suspend=True))
    lab.wait_for_phase("pause", "Suspended")
    assert not lab.objects("pods", "pause")

    lab.patch("pause", suspend=False)
    lab.wait_for_phase("pause", "Running")
    lab.patch("pause", suspend=True)
    lab.wait("pods", lambda pods: not pods, job="pause")
    lab.wait_for_phase("pause", "Suspended")

    lab.patch("pause", suspend=False)
    status = lab.wait_for_end("pause")
    assert status["phase"] == "Succeeded", status["message"]
    assert (status["restarts"], status["disruptions"]) == (0, 0)


def _told(lab: Namespace, pod: Manifest) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(lab.kubectl("logs", pod["metadata"]["name"]).splitlines()[0])
    return told


def _uids(lab: Namespace, job: str) -> set[str]:
    return {pod["metadata"]["uid"] for pod in lab.objects("pods", job).values()}


def _counters(status: Manifest) -> dict[str, int]:
    return {name: status[name] for name in ("attempt", "restarts", "disruptions")}


def _condition(status: Manifest, name: str) -> Manifest:
    return next(item for item in status["conditions"] if item["type"] == name)
