"""The resource as people meet it: on kubectl's command line."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from integration.jobs import Body, Jobs, a_job
from integration.server import ApiServer
from trainingjobs.model.spec import Spec
from trainingjobs.model.status import Status

pytestmark = pytest.mark.integration

Store = Callable[..., Body]

FINE = yaml.safe_dump(a_job("from-kubectl"))


@pytest.mark.parametrize("field", ["spec", "status"])
def test_explain_tells_what_every_field_means(apiserver: ApiServer, field: str) -> None:
    shown = apiserver.kubectl("explain", f"trainingjob.{field}").stdout
    model = {"spec": Spec, "status": Status}[field]
    for name, schema in model.model_json_schema()["properties"].items():
        assert f"  {name}\t<" in shown
        assert _words(schema["description"]) in _words(shown)


def test_explain_reaches_into_the_template(apiserver: ApiServer) -> None:
    shown = apiserver.kubectl("explain", "tj.spec.template.spec.containers.env.value").stdout
    assert "a number needs quotes" in shown


@pytest.mark.parametrize("kind", ["tj", "trainingjob", "trainingjobs", "all"])
def test_found_by_every_name(apiserver: ApiServer, stored: Store, kind: str) -> None:
    job = stored()
    listed = apiserver.kubectl("get", kind, "-o", "name").stdout
    assert f"trainingjob.trainingjob.dev/{job['metadata']['name']}\n" in listed


def test_columns(apiserver: ApiServer, jobs: Jobs, stored: Store) -> None:
    job = stored()
    status = {"phase": "Running", "ready": "3/3", "progress": "40%", "restarts": 1}
    wide = {"masterAddress": "mnist-master:29500", "message": "all is well"}
    assert jobs.write_status(job, status | wide).accepted
    name = job["metadata"]["name"]
    assert _table(apiserver, name)[0] == ["NAME", "PHASE", "READY", "PROGRESS", "RESTARTS", "AGE"]
    assert _table(apiserver, name)[1][:5] == [name, "Running", "3/3", "40%", "1"]
    header, row = _table(apiserver, name, "-o", "wide")
    assert header[6:] == ["FRAMEWORK", "DISRUPTIONS", "MASTER", "MESSAGE"]
    assert row[6:] == ["PyTorch", "mnist-master:29500", "all is well"]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({}, "PARALLEL_INSTANCES cannot change while the job runs"),
        ({"suspend": True}, None),
        ({"elastic": {"minInstances": 1, "maxInstances": 5}}, None),
        ({"elastic": {"minInstances": 1, "maxInstances": 4}}, "must lie between"),
    ],
    ids=["running", "suspended", "elastic", "elastic and too many"],
)
def test_scale(
    apiserver: ApiServer, jobs: Jobs, stored: Store, spec: Body, words: str | None
) -> None:
    name = stored(**spec)["metadata"]["name"]
    scaled = apiserver.kubectl("scale", f"tj/{name}", "--replicas=5")
    assert (scaled.returncode == 0) == (words is None)
    assert (words or "") in scaled.stderr
    assert jobs.read(name)["spec"]["PARALLEL_INSTANCES"] == (3 if words else 5)


def test_scale_reads_the_status(apiserver: ApiServer, jobs: Jobs, stored: Store) -> None:
    job = stored()
    name = job["metadata"]["name"]
    assert jobs.write_status(job, {"replicas": 2, "selector": "a=b"}).accepted
    path = f"/apis/trainingjob.dev/v1/namespaces/default/trainingjobs/{name}/scale"
    scale = json.loads(apiserver.kubectl("get", "--raw", path).stdout)
    assert scale["spec"] == {"replicas": 3}
    assert scale["status"] == {"replicas": 2, "selector": "a=b"}


@pytest.mark.parametrize("how", [(), ("--server-side",)], ids=["client side", "server side"])
def test_applied_again_nothing_changes(
    apiserver: ApiServer, jobs: Jobs, how: tuple[str, ...]
) -> None:
    first = apiserver.kubectl("apply", *how, "-f", "-", input=FINE)
    assert first.returncode == 0, first.stderr
    version = jobs.read("from-kubectl")["metadata"]["resourceVersion"]
    again = apiserver.kubectl("apply", *how, "-f", "-", input=FINE)
    assert again.returncode == 0, again.stderr
    assert jobs.read("from-kubectl")["metadata"]["resourceVersion"] == version
    jobs.delete("from-kubectl")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("PARALLEL_INSTANCES: 3", "parallelInstances: 3", 'unknown field "spec.parallelInstances"'),
        ("PARALLEL_INSTANCES: 3", "PARALLEL_INSTANCES: .nan", "NaN"),
        ("PARALLEL_INSTANCES: 3", "PARALLEL_INSTANCES: .inf", "Inf"),
        ("PARALLEL_INSTANCES: 3", "PARALLEL_INSTANCES: 3e0", None),
        ("PARALLEL_INSTANCES: 3", "PARALLEL_INSTANCES: three", "must be of type integer"),
    ],
    ids=["camelCase", "not a number", "infinity", "exponent", "word"],
)
def test_apply_names_the_mistake(
    apiserver: ApiServer, old: str, new: str, words: str | None
) -> None:
    applied = apiserver.kubectl(
        "apply", "--dry-run=server", "-f", "-", input=FINE.replace(old, new)
    )
    assert (applied.returncode == 0) == (words is None), applied.stderr
    assert (words or "") in applied.stderr


def test_the_definition_can_be_applied_again(apiserver: ApiServer, pytestconfig: Any) -> None:
    applied = apiserver.kubectl("apply", "-f", str(pytestconfig.rootpath / "crds"))
    assert applied.stdout.endswith("unchanged\n")


def _table(apiserver: ApiServer, name: str, *how: str) -> list[list[str]]:
    lines = apiserver.kubectl("get", "tj", name, *how).stdout.splitlines()
    return [re.split(r"\s{2,}", line.strip()) for line in lines]


def _words(text: str) -> str:
    return " ".join(text.split())
