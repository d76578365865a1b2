"""What the roll call makes, before a real API server: taken as it is, and never in the way."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from integration.jobs import Body, a_job
from integration.operators import Served, eventually, operator
from integration.server import ApiServer
from trainingjobs.podfiles import reporter

pytestmark = pytest.mark.integration

NAMESPACE = "called"
RESTRICTED = {
    "runAsNonRoot": True,
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}


class Called(Served):
    """A namespace of the strictest kind with an operator that calls the roll."""

    def submit(self, name: str, **changes: Any) -> Body:
        """A job whose pods may run here."""
        job = a_job(name, PARALLEL_INSTANCES=2, **changes)
        spec = job["spec"]["template"]["spec"]
        spec["serviceAccountName"] = "default"  # this server gives none to a pod
        spec["containers"][0]["securityContext"] = RESTRICTED
        job["metadata"]["namespace"] = self.namespace
        self.apply(job)
        return job

    def pods(self, name: str) -> list[Any]:
        """The pods of a job, once there are two."""

        def there() -> list[Any] | None:
            found = self.core.list_namespaced_pod(self.namespace).items
            own = [pod for pod in found if pod.metadata.name.startswith(f"{name}-")]
            return own if len(own) == 2 else None

        return eventually(there) or []

    def files(self, name: str) -> list[Any]:
        """The ConfigMaps of a job."""
        found = self.core.list_namespaced_config_map(self.namespace).items
        return [item for item in found if item.metadata.name.startswith(f"{name}-rollcall-")]

    def do(self, *args: str, text: str | None = None) -> str:
        """What kubectl says."""
        done = self.server.kubectl(*args, "-n", self.namespace, input=text)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


@pytest.fixture(scope="module")
def called(apiserver: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Called]:
    folder = tmp_path_factory.mktemp("called")
    with operator(apiserver, NAMESPACE, folder, roll_call=True) as process:
        lab = Called(apiserver, process)
        lab.do("create", "serviceaccount", "default")
        enforce = "pod-security.kubernetes.io/enforce=restricted"
        assert apiserver.kubectl("label", "namespace", NAMESPACE, enforce).returncode == 0
        yield lab


def test_pods_and_their_files_are_taken_in_a_restricted_namespace(called: Called) -> None:
    called.submit("strict")
    pods = called.pods("strict")
    (files,) = called.files("strict")
    for pod in pods:
        (volume,) = [it for it in pod.spec.volumes if it.name == "trainingjob-rollcall"]
        code, token = volume.projected.sources
        assert code.config_map.name == files.metadata.name
        assert {item.key for item in code.config_map.items} == set(files.data)
        assert token.service_account_token.audience == "trainingjob.dev/reports"
    assert files.immutable
    assert files.metadata.owner_references[0].kind == "TrainingJob"
    assert sorted(files.data.values()) == sorted(reporter().values())
    assert called.operator.refused() == []


def test_a_job_that_is_not_called_has_nothing_of_it(called: Called) -> None:
    called.submit("silent", rollCall="Disabled")
    for pod in called.pods("silent"):
        words = json.dumps(pod.to_dict(), default=str)
        assert not [it for it in ("rollcall", "PYTHONPATH", "REPORT_URL") if it in words]
    assert called.files("silent") == []


def test_a_quota_on_config_maps_stops_no_job(called: Called) -> None:
    hard = {"count/configmaps": "0"}
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "none", "namespace": NAMESPACE},
        "spec": {"hard": hard},
    }
    called.do("create", "-f-", text=json.dumps(quota))
    # the controller that counts is not there: its word is given instead
    status = json.dumps({"status": {"hard": hard, "used": {"count/configmaps": "0"}}})
    called.do("patch", "quota", "none", "--subresource=status", "--type=merge", f"-p={status}")
    try:
        called.submit("poor")
        assert len(called.pods("poor")) == 2
        assert called.files("poor") == []
        events = ("get", "events", "-ojsonpath={.items[*].reason}")
        eventually(lambda: "RollCallOff" in called.do(*events))
    finally:
        called.do("delete", "quota", "none")
