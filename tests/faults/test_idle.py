"""Fifty jobs that run and of which nothing changes: not one write, for as long as one looks."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, config

from integration.jobs import a_job
from integration.operators import Operator, eventually, operator
from integration.server import ApiServer

pytestmark = [pytest.mark.faults, pytest.mark.integration]

NAMESPACE = "idle"
JOBS = 50
JOBS_PATH = ("trainingjob.dev", "v1", NAMESPACE, "trainingjobs")
CONTAINER = {"name": "trainer", "image": "i", "imageID": "", "ready": True, "restartCount": 0}
RUNNING = {
    "phase": "Running",
    "conditions": [{"type": "PodScheduled", "status": "True"}],
    "containerStatuses": [{**CONTAINER, "state": {"running": {"startedAt": None}}}],
}


@pytest.fixture
def served(apiserver: ApiServer, tmp_path: Path) -> Iterator[Operator]:
    with operator(apiserver, NAMESPACE, tmp_path) as process:
        yield process


def test_nothing_is_written_while_nothing_changes(
    served: Operator, request: pytest.FixtureRequest
) -> None:
    api = config.new_client_from_config(str(served.server.kubeconfig))
    core, custom = client.CoreV1Api(api), client.CustomObjectsApi(api)
    for number in range(JOBS):
        body = a_job(f"job-{number}", PARALLEL_INSTANCES=2)
        custom.create_namespaced_custom_object(*JOBS_PATH, body)
    eventually(lambda: len(core.list_namespaced_pod(NAMESPACE).items) == 2 * JOBS, 120)
    for pod in core.list_namespaced_pod(NAMESPACE).items:
        body = json.loads(json.dumps({"status": RUNNING}))
        core.patch_namespaced_pod_status(pod.metadata.name, NAMESPACE, body)
    eventually(lambda: phases(custom) == {"Running"}, 120)
    time.sleep(5)
    served.forget_requests()
    time.sleep(60 if "faults" in request.config.getoption("markexpr") else 20)
    assert served.writes() == []


def phases(custom: Any) -> set[str]:
    listed = custom.list_namespaced_custom_object(*JOBS_PATH)["items"]
    return {(job.get("status") or {}).get("phase") for job in listed}
