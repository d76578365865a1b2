"""Names, labels and texts of any kind: what is ours is known by its owner, and nothing else is."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from integration.cases import do, stage, where
from integration.jobs import Body, a_job, a_template
from integration.operators import eventually
from integration.server import ApiServer
from integration.test_operator import NAMES, Lab
from trainingjobs.model import labels

pytestmark = pytest.mark.integration

MEBIBYTE = 2**20
UNICODE = "größe 訓練 \N{ROCKET}"


@pytest.fixture
def lab(apiserver: ApiServer, tmp_path: Path) -> Iterator[Lab]:
    with stage(apiserver, tmp_path) as here:
        yield here


def create(lab: Lab, body: Body) -> Body:
    """Make a job as a program does: no copy of it in an annotation, and perhaps no name."""
    made: Body = lab.custom.create_namespaced_custom_object(*where(lab), body)
    return made


def children(lab: Lab, job: Body) -> list[Any]:
    """The pods of a job."""
    selector = labels.selector(job["metadata"]["uid"])
    found: list[Any] = lab.core.list_namespaced_pod(lab.namespace, label_selector=selector).items
    return found


def test_every_legal_name_gets_its_objects(lab: Lab) -> None:
    small = {"PARALLEL_INSTANCES": 2}
    bodies = [a_job(name, **small) for name in ("1job", "my.job", "x" * 253)]
    nameless = a_job(**small)
    nameless["metadata"] = {"generateName": "sweep-"}
    jobs = [create(lab, body) for body in [*bodies, nameless, nameless]]
    for job in jobs:
        eventually(lambda job=job: len(children(lab, job)) == 2)  # type: ignore[misc]
    services = lab.core.list_namespaced_service(lab.namespace).items
    owners = {item.metadata.owner_references[0].name for item in services}
    assert owners == {job["metadata"]["name"] for job in jobs}
    assert all(len(item.metadata.name) <= 63 for item in services)


def test_a_pod_with_copied_labels_is_nobodys(lab: Lab) -> None:
    lab.apply(a_job())
    lab.until_created()
    lab.run_all()
    lab.until_phase("Running")
    copied = lab.core.read_namespaced_pod("job-worker-0", lab.namespace).metadata.labels
    container = {"name": "trainer", "image": "i"}
    stray = {"metadata": {"name": "stray", "labels": copied}, "spec": {"containers": [container]}}
    lab.core.create_namespaced_pod(lab.namespace, stray)
    lab.end("stray", 1)
    lab.operator.forget_requests()
    time.sleep(2)
    assert lab.operator.writes() == []
    lab.patch_spec(suspend=True)
    lab.until_phase("Suspended")
    eventually(lambda: list(lab.pods) == ["stray"])


def test_a_service_that_is_somebody_elses_is_named_and_left(lab: Lab) -> None:
    do(lab, "create", "service", "clusterip", "job", "--tcp=80")
    before = lab.core.read_namespaced_service("job", lab.namespace)
    lab.apply(a_job())
    eventually(lambda: "Service job exists" in lab.status.get("message", ""))
    assert not lab.pods
    left = lab.core.read_namespaced_service("job", lab.namespace)
    assert left.metadata.resource_version == before.metadata.resource_version
    do(lab, "delete", "service", "job")
    lab.until_created()


def test_texts_of_all_languages_come_through_whole(lab: Lab) -> None:
    template = a_template(env=[{"name": "GREETING", "value": UNICODE}])
    template["metadata"] = {"annotations": {"note": UNICODE}}
    lab.apply(a_job(template=template))
    lab.until_created()
    lab.run_all()
    pod = lab.core.read_namespaced_pod("job-master", lab.namespace)
    assert pod.metadata.annotations["note"] == UNICODE
    assert UNICODE in {item.value for item in pod.spec.containers[0].env}
    ended = {
        "exitCode": 3,
        "reason": "Error",
        "message": UNICODE * 500,
        "finishedAt": "2026-01-01T00:01:00Z",
    }
    lab.tell("job-worker-0", {"terminated": ended}, "Failed")
    eventually(lambda: lab.status.get("restarts") == 1)
    said = lab.status["failure"]["message"]
    assert said.endswith("訓練 \N{ROCKET}")
    assert set(said) <= set(UNICODE) | {"…"}


def test_a_spec_as_large_as_the_server_takes_is_served(lab: Lab) -> None:
    env = [{"name": f"V{number}", "value": "x" * 1000} for number in range(1000)]
    body = a_job(PARALLEL_INSTANCES=2, template=a_template(env=env))
    assert len(json.dumps(body)) > MEBIBYTE - 2**15
    job = create(lab, body)
    eventually(lambda: len(children(lab, job)) == 2)
    for name in NAMES[:2]:
        lab.end(name, 0)
    assert lab.until_phase("Succeeded")["ready"] == "2/2"
    size = len(yaml.safe_dump(lab.custom.get_namespaced_custom_object(*where(lab), "job")))
    assert size < 1.5 * MEBIBYTE
