"""What the API server accepts of a new job, and with which words it refuses the rest."""

import json
import string
from typing import Any

import pytest

from integration.jobs import MISSING, Jobs, a_job, a_template, changed
from integration.server import ApiServer
from trainingjobs.model.reserved import RESERVED
from trainingjobs.model.spec import MAX_SECONDS, Spec
from trainingjobs.schema.template import pod_template

pytestmark = pytest.mark.integration

SIZE = "spec.PARALLEL_INSTANCES"
CONTAINER = "spec.template.spec.containers.0"
BOUNDS = {
    SIZE: (1, 10_000),
    "spec.processesPerInstance": (1, 1024),
    "spec.port": (1024, 65_535),
    "spec.maxRestarts": (0, 10_000),
    "spec.activeDeadlineSeconds": (1, MAX_SECONDS),
    "spec.ttlSecondsAfterFinished": (0, MAX_SECONDS),
    "spec.placementTimeoutSeconds": (1, MAX_SECONDS),
    "spec.startupTimeoutSeconds": (1, MAX_SECONDS),
    "spec.stallTimeoutSeconds": (1, MAX_SECONDS),
    "spec.failureRules.0.exitCodes.0": (1, 255),
}
CHOICES = {
    "framework": ["PyTorch", "TensorFlow", "JAX", "MPI", "Horovod"],
    "successPolicy": ["AllInstances", "Master"],
    "cleanPodPolicy": ["Running", "All", "None"],
    "onStall": ["Report", "Restart"],
    "rollCall": ["Enabled", "Disabled"],
}
NO_INTEGER = "must be of type integer"
REFUSED = {
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
GOOD_NAMES = ["a", "7", "a" * 63, "a" * 64, "x" * 253, "team.mnist-2"]
BAD_NAMES = ["a" * 254, "Mnist", "mnist_2", "mnist-", "größe", "モデル", "a b", "..", "a..b"]


@pytest.mark.parametrize(("path", "value", "words"), REFUSED.values(), ids=REFUSED)
def test_refuses_with_words_that_help(jobs: Jobs, path: str, value: Any, words: str) -> None:
    answer = jobs.try_create(changed(a_job(), path, value))
    assert not answer.accepted
    assert words in answer.message


@pytest.mark.parametrize(("path", "value"), ACCEPTED.values(), ids=ACCEPTED)
def test_accepts(jobs: Jobs, path: str, value: Any) -> None:
    answer = jobs.try_create(changed(a_job(), path, value))
    assert answer.accepted, answer.message


@pytest.mark.parametrize("name", RESERVED)
def test_a_variable_that_makes_the_group_is_refused_by_name(jobs: Jobs, name: str) -> None:
    answer = jobs.try_create(a_job(template=a_template(env=[{"name": name, "value": "1"}])))
    assert f"env[0].name: Invalid value: {name} is set by the operator: remove it" in answer.message


@pytest.mark.parametrize(("path", "bounds"), BOUNDS.items(), ids=BOUNDS)
def test_numbers_end_where_they_should(jobs: Jobs, path: str, bounds: tuple[int, int]) -> None:
    body = a_job(failureRules=[{"exitCodes": [1], "action": "Fail"}])
    low, high = bounds
    for value in (low, high):
        answer = jobs.try_create(changed(body, path, value))
        assert answer.accepted, answer.message
    for value in (low - 1, high + 1, -(2**40), 2**40):
        assert _shown(path) in jobs.try_create(changed(body, path, value)).message


def test_every_number_of_the_spec_has_its_bounds_tested() -> None:
    fields = Spec.model_json_schema()["properties"]
    numbers = {f"spec.{name}" for name, field in fields.items() if "integer" in json.dumps(field)}
    assert numbers <= {path.split(".0")[0] for path in BOUNDS}


@pytest.mark.parametrize(("field", "values"), CHOICES.items(), ids=CHOICES)
def test_choices_are_closed(jobs: Jobs, field: str, values: list[str]) -> None:
    assert all(jobs.try_create(a_job(**{field: value})).accepted for value in values)
    for wrong in (values[0].lower(), values[0].upper(), "", "Other"):
        message = jobs.try_create(a_job(**{field: wrong})).message
        assert f"spec.{field}: Unsupported value" in message
        assert all(f'"{value}"' in message for value in values)


@pytest.mark.parametrize("name", GOOD_NAMES, ids=lambda name: f"{len(name)}-{name[:8]}")
def test_any_name_of_kubernetes_will_do(jobs: Jobs, name: str) -> None:
    answer = jobs.try_create(a_job(name))
    assert answer.accepted, answer.message


@pytest.mark.parametrize("name", BAD_NAMES, ids=lambda name: f"{len(name)}-{name[:8]}")
def test_other_names_are_refused(jobs: Jobs, name: str) -> None:
    assert "metadata.name: Invalid value" in jobs.try_create(a_job(name)).message


def test_defaults_are_shown_as_the_models_have_them(jobs: Jobs) -> None:
    minimal = a_job()
    shown = jobs.try_create(minimal).body["spec"]
    models = Spec.model_validate(minimal["spec"])
    assert shown == models.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert shown["port"] == 29500
    assert shown["suspend"] is False


def test_the_template_comes_back_as_it_was_sent(jobs: Jobs) -> None:
    template = {
        "metadata": {"labels": {"team": "a"}, "annotations": {"note": "b"}, "name": "ignored"},
        "spec": {
            "containers": [
                {
                    "name": "trainer",
                    "image": "my/trainer:1",
                    "env": [
                        {"name": "KEY", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
                    ],
                    "resources": {"limits": {"cpu": 1, "nvidia.com/gpu": "2"}},
                    "volumeMounts": [{"name": "data", "mountPath": "/data"}],
                    "fieldOfTomorrow": {"kept": [1, None, {"as": "it is"}]},
                }
            ],
            "volumes": [{"name": "data", "emptyDir": {}}],
            "tolerations": [{"operator": "Exists"}],
            "nodeSelector": {"gpu": "yes"},
        },
    }
    assert jobs.try_create(a_job(template=template)).body["spec"]["template"] == template


def test_a_large_template_stays_within_the_budget_of_the_rules(jobs: Jobs) -> None:
    env = [{"name": f"V_{number}", "value": "x"} for number in range(100)]
    containers = [{"name": f"c-{letter}", "env": env} for letter in string.ascii_lowercase]
    answer = jobs.try_create(a_job(template={"spec": {"containers": containers}}))
    assert answer.accepted, answer.message


def test_all_fields_of_a_pod_are_declared_so_that_changes_are_seen(apiserver: ApiServer) -> None:
    raw = apiserver.kubectl("get", "--raw", "/openapi/v3/api/v1").stdout
    known = json.loads(raw)["components"]["schemas"]
    pod = pod_template("")["properties"]["spec"]["properties"]
    container = pod["containers"]["items"]["properties"]
    assert set(known["io.k8s.api.core.v1.PodSpec"]["properties"]) <= set(pod)
    assert set(known["io.k8s.api.core.v1.Container"]["properties"]) <= set(container)
    variable = container["env"]["items"]["properties"]
    assert set(known["io.k8s.api.core.v1.EnvVar"]["properties"]) <= set(variable)


def _shown(path: str) -> str:
    """`spec.rules.0` as the API server writes it."""
    return path.replace(".0", "[0]")
