"""Every example's pods are taken by a namespace with the strictest of the Pod Security levels.

What the operator adds to a template (volumes, a token, a launcher) is judged with it, by the API
server's own admission; nothing is stored.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from integration.jobs import a_template
from integration.server import ApiServer
from trainingjobs.handlers.reporter import site
from trainingjobs.model.job import TrainingJob, parse
from trainingjobs.model.site import Site
from trainingjobs.plan import manifests
from trainingjobs.settings import Settings

pytestmark = pytest.mark.integration

NAMESPACE = "strict-examples"
EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*/job.yaml"))


@pytest.fixture(scope="module")
def server(apiserver: ApiServer) -> ApiServer:
    """The server with a namespace that takes restricted pods alone."""
    apiserver.kubectl("create", "namespace", NAMESPACE)
    labels = [f"pod-security.kubernetes.io/{mode}=restricted" for mode in ("enforce", "warn")]
    done = apiserver.kubectl("label", "--overwrite", "namespace", NAMESPACE, *labels)
    assert done.returncode == 0, done.stderr
    return apiserver


@pytest.fixture(scope="module")
def here() -> Site:
    """An operator that puts all that it has into pods."""
    return site(Settings(report_url="http://operator.test/api/v1/reports"))


def job_of(body: dict[str, Any]) -> TrainingJob:
    """The job in its first attempt, as the operator would read it."""
    known = {"namespace": NAMESPACE, "uid": "6f6c1f0e-0000-4000-8000-000000000001"}
    # no plugin of this server gives one to a pod
    body["spec"]["template"]["spec"]["serviceAccountName"] = "default"
    job = parse({**body, "metadata": {**body["metadata"], **known}, "status": {"attempt": 1}})
    assert isinstance(job, TrainingJob), job
    return job


def refusals(server: ApiServer, job: TrainingJob, here: Site) -> str:
    """What the API server says of the pods of the first and the last rank; nothing is best."""
    pods = [manifests.pod(job, rank, here) for rank in (0, job.size - 1)]
    flags = ("--dry-run=server", "--validate=strict", "--warnings-as-errors")
    done = server.kubectl("create", *flags, "-f-", input=yaml.safe_dump_all(pods))
    assert (done.returncode == 0) == (not done.stderr)
    return done.stderr


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
def test_a_strict_namespace_takes_an_examples_pods(
    server: ApiServer, here: Site, path: Path
) -> None:
    job = job_of(yaml.safe_load(path.read_text()))
    for rank in (0, job.size - 1):
        (volume,) = (
            it
            for it in manifests.pod(job, rank, here)["spec"]["volumes"]
            if it["name"] == "trainingjob-rollcall"
        )
        assert volume["projected"]["sources"]
    assert refusals(server, job, here) == ""


@pytest.mark.parametrize("field", ["runAsNonRoot", "seccompProfile"])
def test_the_namespace_is_as_strict_as_it_is_called(
    server: ApiServer, here: Site, field: str
) -> None:
    body = yaml.safe_load(EXAMPLES[0].read_text())
    del body["spec"]["template"]["spec"]["securityContext"][field]
    assert field in refusals(server, job_of(body), here)


def test_the_operator_adds_nothing_that_a_template_has_not_asked_for(
    server: ApiServer, here: Site
) -> None:
    """Whose template is refused without us is refused with us: nothing is made right silently."""
    body = yaml.safe_load(EXAMPLES[0].read_text())
    body["spec"]["template"] = a_template()
    assert "violates PodSecurity" in refusals(server, job_of(body), here)
