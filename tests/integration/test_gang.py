"""Pod groups against a real API server: two foreign APIs by the smallest definitions of them.

No scheduler runs here; what is proven is which objects are there, and when.
"""

import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from integration.jobs import Body, a_job
from integration.operators import eventually, operator
from integration.server import ApiServer
from integration.test_operator import NAMES, Lab
from trainingjobs.cluster.rbac import RULES
from trainingjobs.model.gang import Gang

pytestmark = pytest.mark.integration

FOREIGN = {Gang.VOLCANO: "volcano", Gang.COSCHEDULING: "scheduler-plugins-scheduler"}
_numbers = itertools.count()


def definition(of: Gang) -> Body:
    """A resource of this name and version that takes anything."""
    version = of.value.partition("/")[2]
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    note = {"api-approved.kubernetes.io": "unapproved, for tests"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"podgroups.{of.group}", "annotations": note},
        "spec": {
            "group": of.group,
            "scope": "Namespaced",
            "names": {"kind": "PodGroup", "plural": "podgroups"},
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": anything},
                }
            ],
        },
    }


def install(server: ApiServer, of: Gang) -> None:
    """The scheduler's installation brings its definition."""
    done = server.kubectl("apply", "-f", "-", input=yaml.safe_dump(definition(of)))
    assert done.returncode == 0, done.stderr
    eventually(lambda: served(server, of))


def uninstall(server: ApiServer, of: Gang) -> None:
    """The scheduler is taken away."""
    server.kubectl("delete", "crd", f"podgroups.{of.group}", "--ignore-not-found", "--wait=false")
    eventually(lambda: not served(server, of))


def served(server: ApiServer, of: Gang) -> bool:
    answer = server.kubectl("get", "--raw", f"/apis/{of}/podgroups")
    return answer.returncode == 0


class Groups(Lab):
    """A namespace whose pod groups can be looked at."""

    def groups(self, of: Gang) -> dict[str, Body]:
        """Pod groups by name."""
        where = (of.group, of.value.partition("/")[2], self.namespace, "podgroups")
        listed = self.custom.list_namespaced_custom_object(*where)["items"]
        return {item["metadata"]["name"]: item for item in listed}


@pytest.fixture(params=FOREIGN, ids=FOREIGN.values())
def gang(request: pytest.FixtureRequest, apiserver: ApiServer) -> Iterator[Gang]:
    """One of the foreign schedulers, installed."""
    install(apiserver, request.param)
    yield request.param
    uninstall(apiserver, request.param)


@pytest.fixture
def lab(apiserver: ApiServer, tmp_path: Path) -> Iterator[Groups]:
    with operator(apiserver, f"gang-{next(_numbers)}", tmp_path) as served_by:
        yield Groups(apiserver, served_by)
        assert not served_by.refused()
        assert "Traceback" not in served_by.log()


def job_for(of: Gang, **spec: Any) -> Body:
    """A job that names the scheduler."""
    body = a_job(**spec)
    body["spec"]["template"]["spec"]["schedulerName"] = FOREIGN[of]
    return body


def marks(lab: Groups, of: Gang) -> list[str]:
    """By which group each pod goes, in the words of its scheduler."""
    found = [pod.metadata for pod in lab.core.list_namespaced_pod(lab.namespace).items]
    if of is Gang.VOLCANO:
        return [pod.annotations["scheduling.k8s.io/group-name"] for pod in found]
    return [pod.labels["scheduling.x-k8s.io/pod-group"] for pod in found]


def test_a_group_lives_and_changes_and_goes_with_its_job(gang: Gang, lab: Groups) -> None:
    lab.operator.forget_requests()
    lab.apply(job_for(gang, elastic={"minInstances": 2, "maxInstances": 5}))
    lab.until_created()
    (group,) = lab.groups(gang).values()
    uid = group["metadata"]["uid"]
    assert group["metadata"]["ownerReferences"][0]["kind"] == "TrainingJob"
    assert group["spec"]["minMember"] == 2
    assert marks(lab, gang) == ["job"] * 3
    lab.patch_spec(elastic={"minInstances": 3, "maxInstances": 5})
    eventually(lambda: lab.groups(gang)["job"]["spec"]["minMember"] == 3)
    lab.core.delete_namespaced_pod("job-worker-1", lab.namespace, grace_period_seconds=0)
    eventually(lambda: lab.status.get("attempt") == 2 and sorted(lab.pods) == NAMES)
    assert lab.groups(gang)["job"]["metadata"]["uid"] == uid
    lab.patch_spec(suspend=True)
    eventually(lambda: not lab.groups(gang))
    lab.patch_spec(suspend=False)
    eventually(lambda: sorted(lab.pods) == NAMES and "job" in lab.groups(gang))
    for name in NAMES:
        lab.end(name, 0)
    lab.until_phase("Succeeded")
    eventually(lambda: not lab.groups(gang))
    urls = [verb for verb, url in lab.operator.requests() if "/podgroups" in url]
    assert urls.count("create") == urls.count("delete") == 2
    assert urls.count("patch") == 1


def test_a_group_that_somebody_replaced_is_found_and_changed(gang: Gang, lab: Groups) -> None:
    """The server calls a patch with the uid of before invalid; the job is not."""
    lab.apply(job_for(gang, elastic={"minInstances": 2, "maxInstances": 5}))
    before = lab.until_created()
    group = lab.groups(gang)["job"]
    where = (gang.group, gang.value.partition("/")[2], lab.namespace, "podgroups")
    lab.custom.delete_namespaced_custom_object(*where, "job")
    for field in ("uid", "resourceVersion", "creationTimestamp"):
        del group["metadata"][field]
    lab.custom.create_namespaced_custom_object(*where, group)
    lab.patch_spec(elastic={"minInstances": 3, "maxInstances": 5})
    eventually(lambda: lab.groups(gang)["job"]["spec"]["minMember"] == 3)
    assert (lab.status["phase"], lab.pods) == ("Pending", before)


def test_an_operator_that_starts_anew_knows_the_group(gang: Gang, lab: Groups) -> None:
    lab.apply(job_for(gang))
    lab.until_created()
    lab.operator.stop()
    lab.operator.forget_requests()
    lab.operator.start()
    time.sleep(2)
    assert lab.operator.writes() == []
    lab.patch_spec(suspend=True)
    eventually(lambda: not lab.groups(gang))


def test_a_foreign_group_of_that_name_is_left_alone(gang: Gang, lab: Groups) -> None:
    theirs = {"apiVersion": gang.value, "kind": "PodGroup", "metadata": {"name": "job"}}
    lab.apply({**theirs, "spec": {"minMember": 7}})
    lab.apply(job_for(gang))
    words = "PodGroup job exists and does not belong to this job"
    eventually(lambda: words in lab.status.get("message", ""))
    assert lab.groups(gang)["job"]["spec"] == {"minMember": 7}
    assert not lab.pods


def test_every_verb_on_pod_groups_is_used(gang: Gang, lab: Groups) -> None:
    """What test_least_privilege.py cannot show of its permissions."""
    lab.operator.forget_requests()
    theirs = {"apiVersion": gang.value, "kind": "PodGroup", "metadata": {"name": "job"}}
    lab.apply({**theirs, "spec": {"minMember": 7}})
    lab.apply(job_for(gang, elastic={"minInstances": 2, "maxInstances": 5}))
    eventually(lambda: "PodGroup job exists" in lab.status.get("message", ""))
    where = (gang.group, gang.value.partition("/")[2], lab.namespace, "podgroups")
    lab.custom.delete_namespaced_custom_object(*where, "job")
    lab.until_created()
    lab.patch_spec(elastic={"minInstances": 3, "maxInstances": 5})
    eventually(lambda: lab.groups(gang)["job"]["spec"]["minMember"] == 3)
    lab.patch_spec(suspend=True)
    eventually(lambda: not lab.groups(gang))
    lab.operator.stop()
    lab.operator.start()  # it lists what is there
    (rule,) = (it for it in RULES if (it.group, it.resource) == (gang.group, "podgroups"))
    used = {verb for verb, url in lab.operator.requests() if f"/{gang.group}/" in url}
    assert used == {*rule.verbs}


@pytest.mark.parametrize("missing", FOREIGN, ids=FOREIGN.values())
def test_a_scheduler_that_is_not_installed_is_said_once(missing: Gang, lab: Groups) -> None:
    lab.operator.forget_requests()
    lab.apply(job_for(missing))
    eventually(lambda: missing.value in lab.status.get("message", ""))
    time.sleep(3)
    assert not lab.pods
    assert len(lab.operator.writes("trainingjobs/job/status")) == 1
    assert lab.operator.writes("/pods") == []
    try:
        install(lab.server, missing)
        lab.operator.stop()
        lab.operator.start()
        lab.until_created()
    finally:
        uninstall(lab.server, missing)
