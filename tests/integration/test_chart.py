"""A real API server takes every object of the chart, and a strict namespace takes its pods."""

import pytest
import yaml

from chart import rendering
from integration.server import ApiServer

pytestmark = pytest.mark.integration

NAMESPACES = (rendering.NAMESPACE, *rendering.NAMESPACED["namespaces"])
STRICT = "pod-security.kubernetes.io/enforce=restricted"
NOT_SERVED = {"ServiceMonitor", "PrometheusRule"}  # defined by the Prometheus Operator

every_values = pytest.mark.parametrize(
    "values", rendering.ALL_VALUES.values(), ids=rendering.ALL_VALUES
)


@pytest.fixture(scope="module")
def helm(tmp_path_factory: pytest.TempPathFactory) -> rendering.Helm:
    return rendering.helm(tmp_path_factory.mktemp("helm"))


@pytest.fixture(scope="module")
def server(apiserver: ApiServer) -> ApiServer:
    """The server with the chart's namespaces in it, which allow restricted pods only."""
    for namespace in NAMESPACES:
        apiserver.kubectl("create", "namespace", namespace)
        labelled = apiserver.kubectl("label", "--overwrite", "namespace", namespace, STRICT)
        assert labelled.returncode == 0, labelled.stderr
    return apiserver


def check(server: ApiServer, manifests: list[rendering.Manifest]) -> None:
    """The server would take the manifests, with no field unknown and no warning given."""
    flags = ("--dry-run=server", "--validate=strict", "--warnings-as-errors")
    made = server.kubectl("apply", *flags, "-f", "-", input=yaml.safe_dump_all(manifests))
    assert made.returncode == 0, made.stderr


@every_values
def test_the_server_takes_every_object(
    server: ApiServer, helm: rendering.Helm, values: rendering.Values
) -> None:
    check(server, [one for one in helm.render(values) if one["kind"] not in NOT_SERVED])


@every_values
def test_the_operator_runs_under_restricted_pod_security(
    server: ApiServer, helm: rendering.Helm, values: rendering.Values
) -> None:
    (deployment,) = rendering.of_kind(helm.render(values), "Deployment")
    template = deployment["spec"]["template"]
    metadata = {"name": "operator", "namespace": rendering.NAMESPACE}
    check(server, [{"apiVersion": "v1", "kind": "Pod", **template, "metadata": metadata}])
