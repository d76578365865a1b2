"""What the API server accepts of a new job, and with which words it refuses the rest."""

from typing import Any

import pytest

from integration.jobs import MISSING, Jobs, a_job, a_template, changed

pytestmark = pytest.mark.integration

SIZE = "spec.PARALLEL_INSTANCES"
CONTAINER = "spec.template.spec.containers.0"
NO_INTEGER = "must be of type integer"
REFUSED = {
    "less than no instance": (SIZE, -1, "should be greater than or equal to 1"),
    "no instance": (SIZE, 0, "should be greater than or equal to 1"),
    "one instance too many": (SIZE, 10_001, "should be less than or equal to 10000"),
    "a fraction of an instance": (SIZE, 1.5, NO_INTEGER),
    "instances as text": (SIZE, "3", NO_INTEGER),
    "instances null": (SIZE, None, f"{SIZE}: Required value"),
    "no instances said": (SIZE, MISSING, f"{SIZE}: Required value"),
    "no spec": ("spec", MISSING, "spec: Required value"),
    "no template": ("spec.template", MISSING, "spec.template: Required value"),
    "a template without a spec": ("spec.template", {}, "spec.template.spec: Required value"),
    "no containers said": (
        "spec.template.spec",
        {"volumes": []},
        "spec.template.spec.containers: Required value",
    ),
    "an empty list of containers": (
        "spec.template.spec.containers",
        [],
        "spec.template.spec.containers in body should have at least 1 items",
    ),
    "a container without a name": (
        f"{CONTAINER}.name",
        MISSING,
        "spec.template.spec.containers[0].name: Required value",
    ),
    "two containers of one name": (
        "spec.template.spec.containers",
        [{"name": "trainer"}, {"name": "trainer"}],
        'spec.template.spec.containers[1]: Duplicate value: {"name":"trainer"}',
    ),
    "too many containers": (
        "spec.template.spec.containers",
        [{"name": f"c{number}"} for number in range(101)],
        "must have at most 100 items",
    ),
    "a variable twice": (
        f"{CONTAINER}.env",
        [{"name": "LR", "value": "1"}, {"name": "LR", "value": "2"}],
        'containers[0].env[1]: Duplicate value: {"name":"LR"}',
    ),
    "a variable without a name": (f"{CONTAINER}.env", [{"value": "1"}], "env[0].name: Required"),
    "a number as a variable's text": (
        f"{CONTAINER}.env",
        [{"name": "LR", "value": 1}],
        "containers[0].env[0].value in body must be of type string",
    ),
    "restarts by the kubelet": (
        "spec.template.spec.restartPolicy",
        "OnFailure",
        "must be Never or absent: the operator restarts the whole group, as spec.maxRestarts says",
    ),
    "a hostname": (
        "spec.template.spec.hostname",
        "h",
        "hostname is set by the operator, so that ranks find each other: remove it",
    ),
    "a subdomain": (
        "spec.template.spec.subdomain",
        "s",
        "subdomain is set by the operator, so that ranks find each other: remove it",
    ),
    "a label that is no text": (
        "spec.template.metadata.labels",
        {"team": 1},
        "spec.template.metadata.labels.team in body must be of type string",
    ),
    "a master without containers": (
        "spec.masterTemplate",
        {"spec": {}},
        "spec.masterTemplate.spec.containers: Required value",
    ),
    "a master with a rank of its own": (
        "spec.masterTemplate",
        a_template(env=[{"name": "RANK", "value": "0"}]),
        "spec.masterTemplate.spec.containers[0].env[0].name: Invalid value",
    ),
    "an init container with a rank of its own": (
        "spec.template.spec.initContainers",
        [{"name": "init", "env": [{"name": "RANK", "value": "0"}]}],
        "RANK is set by the operator: remove it from the template",
    ),
    "processes by another word": (
        "spec.processesPerInstance",
        "gpu",
        "must be an integer from 1 to 1024, or auto",
    ),
    "processes as text": (
        "spec.processesPerInstance",
        "2",
        "must be an integer from 1 to 1024, or auto",
    ),
    "more ranks than anybody can look at": (
        "spec",
        a_job()["spec"] | {"PARALLEL_INSTANCES": 65, "processesPerInstance": 1024},
        "instances times processesPerInstance must be at most 65536",
    ),
    "more ranks than that, once it has grown": (
        "spec",
        a_job()["spec"]
        | {"elastic": {"minInstances": 1, "maxInstances": 65}, "processesPerInstance": 1024},
        "instances times processesPerInstance must be at most 65536",
    ),
    "a fraction of a process": ("spec.processesPerInstance", 1.5, "spec.processesPerInstance"),
    "elastic bounds crossed": (
        "spec.elastic",
        {"minInstances": 4, "maxInstances": 2},
        "minInstances must not be greater than maxInstances",
    ),
    "fewer instances than elastic allows": (
        "spec.elastic",
        {"minInstances": 4, "maxInstances": 8},
        "must lie between spec.elastic.minInstances and spec.elastic.maxInstances",
    ),
    "more instances than elastic allows": (
        "spec.elastic",
        {"minInstances": 1, "maxInstances": 2},
        "must lie between spec.elastic.minInstances and spec.elastic.maxInstances",
    ),
    "elastic without a lower bound": (
        "spec.elastic",
        {"maxInstances": 4},
        "spec.elastic.minInstances: Required value",
    ),
    "elastic down to nothing": (
        "spec.elastic",
        {"minInstances": 0, "maxInstances": 4},
        "spec.elastic.minInstances in body should be greater than or equal to 1",
    ),
    "elastic beyond the largest job": (
        "spec.elastic",
        {"minInstances": 1, "maxInstances": 10_001},
        "spec.elastic.maxInstances in body should be less than or equal to 10000",
    ),
    "a rule without exit codes": (
        "spec.failureRules",
        [{"exitCodes": [], "action": "Fail"}],
        "spec.failureRules[0].exitCodes in body should have at least 1 items",
    ),
    "a rule without an action": (
        "spec.failureRules",
        [{"exitCodes": [1]}],
        "spec.failureRules[0].action: Required value",
    ),
    "a rule with a foreign action": (
        "spec.failureRules",
        [{"exitCodes": [1], "action": "Retry"}],
        'supported values: "Fail", "Restart", "Ignore"',
    ),
    "an exit code twice in one rule": (
        "spec.failureRules",
        [{"exitCodes": [1, 1], "action": "Fail"}],
        "spec.failureRules[0].exitCodes[1]: Duplicate value: 1",
    ),
    "too many rules": (
        "spec.failureRules",
        [{"exitCodes": [1], "action": "Fail"}] * 21,
        "must have at most 20 items",
    ),
    "suspend as text": ("spec.suspend", "true", "spec.suspend in body must be of type boolean"),
    "a manager with too long a name": ("spec.managedBy", "x" * 64, "may not be more than 63"),
    "camelCase for the size": ("spec.parallelInstances", 3, 'unknown field "spec.parallelInst'),
    "an unknown field": ("spec.retries", 3, 'unknown field "spec.retries"'),
    "an unknown field of elastic": (
        "spec.elastic",
        {"minInstances": 1, "maxInstances": 4, "step": 1},
        'unknown field "spec.elastic.step"',
    ),
    "a container's field beside the containers": (
        "spec.image",
        "my/trainer:1",
        'unknown field "spec.image"',
    ),
}
ACCEPTED = {
    "one instance": (SIZE, 1),
    "the largest job": (SIZE, 10_000),
    "a master of its own": ("spec.masterTemplate", a_template(image="my/master:1")),
    "no master of its own, said with null": ("spec.masterTemplate", None),
    "processes by the machine": ("spec.processesPerInstance", "auto"),
    "an elastic job": ("spec.elastic", {"minInstances": 1, "maxInstances": 10_000}),
    "an elastic job of one size": ("spec.elastic", {"minInstances": 3, "maxInstances": 3}),
    "restartPolicy Never": ("spec.template.spec.restartPolicy", "Never"),
    "a sidecar": (
        "spec.template.spec.initContainers",
        [{"name": "logs", "restartPolicy": "Always"}],
    ),
    "another manager": ("spec.managedBy", "kueue.x-k8s.io/multikueue"),
    "variables of one's own": (
        f"{CONTAINER}.env",
        [{"name": "OMP_NUM_THREADS", "value": "4"}, {"name": "NCCL_DEBUG", "value": "INFO"}],
    ),
    "variables that read the group's": (
        f"{CONTAINER}.env",
        [{"name": "WHO", "value": "$(RANK)"}, {"name": "rank", "value": "lower case is another"}],
    ),
    "one rule of all exit codes": (
        "spec.failureRules",
        [{"exitCodes": list(range(1, 256)), "action": "Ignore"}],
    ),
    "no variables, said with null": (f"{CONTAINER}.env", None),
}


@pytest.mark.parametrize(("path", "value", "words"), REFUSED.values(), ids=REFUSED)
def test_refuses_with_words_that_help(jobs: Jobs, path: str, value: Any, words: str) -> None:
    answer = jobs.try_create(changed(a_job(), path, value))
    assert not answer.accepted
    assert words in answer.message


@pytest.mark.parametrize(("path", "value"), ACCEPTED.values(), ids=ACCEPTED)
def test_accepts(jobs: Jobs, path: str, value: Any) -> None:
    answer = jobs.try_create(changed(a_job(), path, value))
    assert answer.accepted, answer.message
