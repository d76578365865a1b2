"""The pod template: kept as it was sent, but for what would break the group."""

import json
import string

import pytest

from integration.jobs import Jobs, a_job, a_template
from integration.server import ApiServer
from trainingjobs.model.reserved import RESERVED
from trainingjobs.schema.template import pod_template

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("name", RESERVED)
def test_a_variable_that_makes_the_group_is_refused_by_name(jobs: Jobs, name: str) -> None:
    answer = jobs.try_create(a_job(template=a_template(env=[{"name": name, "value": "1"}])))
    assert f"env[0].name: Invalid value: {name} is set by the operator: remove it" in answer.message


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
