"""Which changes of a job the API server lets through, and when."""

from collections.abc import Callable
from typing import Any

import pytest

from integration.jobs import MISSING, Body, Jobs, a_template, changed
from trainingjobs.model.spec import MAX_SECONDS

pytestmark = pytest.mark.integration

Store = Callable[..., Body]

STOP_FIRST = (
    "cannot change while the job runs, nor once it has finished: set spec.suspend to true first, "
    "or create a new job"
)
POD = "spec.template.spec"
CONTAINER = f"{POD}.containers.0"
BEFORE: Body = {
    "template": {
        "metadata": {"labels": {"team": "a"}},
        "spec": {
            "nodeSelector": {"gpu": "yes"},
            "containers": [
                {
                    "name": "trainer",
                    "image": "my/trainer:1",
                    "env": [{"name": "LR", "value": "1"}],
                    "resources": {"limits": {"cpu": "1"}},
                }
            ],
        },
    }
}
FIXED = {
    "the framework": ("framework", "spec.framework", "JAX"),
    "the port": ("port", "spec.port", 29501),
    "the processes": ("processesPerInstance", "spec.processesPerInstance", 2),
    "the processes to auto": ("processesPerInstance", "spec.processesPerInstance", "auto"),
    "the master's template appears": ("masterTemplate", "spec.masterTemplate", a_template()),
    "the image": ("template", f"{CONTAINER}.image", "my/trainer:2"),
    "no image": ("template", f"{CONTAINER}.image", MISSING),
    "a command": ("template", f"{CONTAINER}.command", ["python"]),
    "a value": ("template", f"{CONTAINER}.env.0.value", "2"),
    "a variable": ("template", f"{CONTAINER}.env.0.name", "RATE"),
    "a variable's source": (
        "template",
        f"{CONTAINER}.env.0",
        {"name": "LR", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
    ),
    "a limit": ("template", f"{CONTAINER}.resources.limits.cpu", "2"),
    "one limit for another": ("template", f"{CONTAINER}.resources.limits", {"memory": "1"}),
    "one field for another": (
        "template",
        CONTAINER,
        {
            "name": "trainer",
            "args": ["my/trainer:1"],
            "env": [{"name": "LR", "value": "1"}],
            "resources": {"limits": {"cpu": "1"}},
        },
    ),
    "one label for another": ("template", "spec.template.metadata.labels", {"group": "a"}),
    "one selector for another": ("template", f"{POD}.nodeSelector", {"cpu": "yes"}),
    "a selector for a toleration": (
        "template",
        POD,
        {"containers": BEFORE["template"]["spec"]["containers"], "tolerations": []},
    ),
    "a sidecar": ("template", f"{POD}.containers.1", None),
    "an init container": ("template", f"{POD}.initContainers", [{"name": "init"}]),
}
FREE = {
    "maxRestarts": 7,
    "failureRules": [{"exitCodes": [1], "action": "Fail"}],
    "successPolicy": "Master",
    "cleanPodPolicy": "All",
    "activeDeadlineSeconds": MAX_SECONDS,
    "ttlSecondsAfterFinished": 0,
    "suspend": True,
    "placementTimeoutSeconds": 60,
    "startupTimeoutSeconds": 60,
    "stallTimeoutSeconds": 60,
    "onStall": "Restart",
    "elastic": {"minInstances": 1, "maxInstances": 4},
}


def changed_job(job: Body, path: str, value: Any) -> Body:
    """The job with one change; a further container stands for `containers.1`."""
    if path == f"{POD}.containers.1":
        both = [*job["spec"]["template"]["spec"]["containers"], {"name": "sidecar"}]
        return changed(job, f"{POD}.containers", both)
    return changed(job, path, value)


@pytest.mark.parametrize(("field", "path", "value"), FIXED.values(), ids=FIXED)
def test_fixed_while_running(jobs: Jobs, stored: Store, field: str, path: str, value: Any) -> None:
    running = stored(**BEFORE)
    answer = jobs.try_replace(changed_job(running, path, value))
    assert f"{field} {STOP_FIRST}" in answer.message
    assert f"spec.{field}: " in answer.message


@pytest.mark.parametrize(("field", "path", "value"), FIXED.values(), ids=FIXED)
def test_open_while_suspended(jobs: Jobs, stored: Store, field: str, path: str, value: Any) -> None:
    suspended = stored(**BEFORE, suspend=True)
    for job in (suspended, changed(suspended, "spec.suspend", False)):
        answer = jobs.try_replace(changed_job(job, path, value))
        assert answer.accepted, (field, answer.message)


def test_the_masters_template_stays_and_does_not_change(jobs: Jobs, stored: Store) -> None:
    running = stored(masterTemplate=a_template())
    for path, value in (
        ("spec.masterTemplate", MISSING),
        ("spec.masterTemplate.spec.containers.0.image", "my/master:2"),
    ):
        answer = jobs.try_replace(changed(running, path, value))
        assert f"masterTemplate {STOP_FIRST}" in answer.message


def test_a_job_is_stopped_and_changed_in_one_write(jobs: Jobs, stored: Store) -> None:
    """Kueue takes a job back so: suspended, and with the template and size that it had before."""
    stopping = changed(stored(**BEFORE), "spec.suspend", True)
    for path, value in ((f"{POD}.nodeSelector", {"zone": "a"}), ("spec.PARALLEL_INSTANCES", 2)):
        answer = jobs.try_replace(changed(stopping, path, value))
        assert answer.accepted, answer.message


@pytest.mark.parametrize(("field", "value"), FREE.items(), ids=FREE)
def test_free_while_running(jobs: Jobs, stored: Store, field: str, value: Any) -> None:
    answer = jobs.try_replace(changed(stored(), f"spec.{field}", value))
    assert answer.accepted, answer.message


def test_defaults_written_out_change_nothing(jobs: Jobs, stored: Store) -> None:
    running = stored()
    assert jobs.try_replace(changed(running, "spec.port", 29500)).accepted
    assert jobs.try_replace(changed(running, "spec.framework", MISSING)).accepted


@pytest.mark.parametrize(
    ("before", "size", "words"),
    [
        ({}, 4, f"PARALLEL_INSTANCES {STOP_FIRST}"),
        ({"suspend": True}, 4, None),
        ({"elastic": {"minInstances": 2, "maxInstances": 4}}, 4, None),
        ({"elastic": {"minInstances": 2, "maxInstances": 4}}, 2, None),
        ({"elastic": {"minInstances": 2, "maxInstances": 4}}, 1, "must lie between"),
        ({"elastic": {"minInstances": 2, "maxInstances": 4}}, 5, "must lie between"),
    ],
    ids=["running", "suspended", "to the most", "to the least", "too few", "too many"],
)
def test_size(jobs: Jobs, stored: Store, before: Body, size: int, words: str | None) -> None:
    answer = jobs.try_replace(changed(stored(**before), "spec.PARALLEL_INSTANCES", size))
    assert answer.accepted == (words is None)
    assert (words or "") in answer.message


def test_elastic_goes_and_the_size_stays(jobs: Jobs, stored: Store) -> None:
    elastic = stored(elastic={"minInstances": 2, "maxInstances": 4})
    plain = changed(elastic, "spec.elastic", MISSING)
    assert jobs.try_replace(plain).accepted
    answer = jobs.try_replace(changed(plain, "spec.PARALLEL_INSTANCES", 2))
    assert f"PARALLEL_INSTANCES {STOP_FIRST}" in answer.message


@pytest.mark.parametrize(
    ("before", "after"),
    [({}, "a/b"), ({"managedBy": "a/b"}, MISSING), ({"managedBy": "a/b"}, "a/c")],
    ids=["appears", "goes", "changes"],
)
def test_the_manager_is_for_life(jobs: Jobs, stored: Store, before: Body, after: Any) -> None:
    for suspend in (False, True):
        job = stored(**before, suspend=suspend)
        answer = jobs.try_replace(changed(job, "spec.managedBy", after))
        assert "managedBy cannot change" in answer.message


def test_a_large_job_can_change_too(jobs: Jobs, stored: Store) -> None:
    """The cost of comparing templates is bounded by the server, whatever their size."""
    env = [{"name": f"V_{number}", "value": "x" * 20} for number in range(400)]
    containers = [{"name": f"c-{number}", "env": env} for number in range(10)]
    running = stored(template={"spec": {"containers": containers}})
    answer = jobs.try_replace(changed(running, "spec.maxRestarts", 7))
    assert answer.accepted, answer.message


def test_all_that_is_wrong_is_said_at_once(jobs: Jobs, stored: Store) -> None:
    job = changed(stored(), "spec.port", 29501)
    message = jobs.try_replace(changed(job, "spec.framework", "JAX")).message
    assert f"port {STOP_FIRST}" in message
    assert f"framework {STOP_FIRST}" in message
