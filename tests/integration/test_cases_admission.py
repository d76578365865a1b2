"""Policies of a cluster that have a say in our pods: what they refuse is said and tried again."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from integration import server
from integration.cases import do, stage
from integration.jobs import a_job
from integration.operators import eventually
from integration.server import ApiServer, api_server
from integration.test_operator import Lab

pytestmark = pytest.mark.integration

CRDS = Path(__file__).parents[2] / "crds"
ADMISSION = "admissionregistration.k8s.io/v1"


@pytest.fixture
def lab(apiserver: ApiServer, tmp_path: Path) -> Iterator[Lab]:
    with stage(apiserver, tmp_path) as here:
        yield here


def no_pods(namespace: str) -> dict[str, Any]:
    """A policy under which no pod is welcome in a namespace."""
    pods = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"]}
    policy = {
        "apiVersion": ADMISSION,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "no-pods"},
        "spec": {
            "matchConstraints": {"resourceRules": [{**pods, "resources": ["pods"]}]},
            "validations": [{"expression": "false", "message": "not today"}],
        },
    }
    where = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}}
    binding = {
        "apiVersion": ADMISSION,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "no-pods"},
        "spec": {
            "policyName": "no-pods",
            "validationActions": ["Deny"],
            "matchResources": where,
        },
    }
    return {"apiVersion": "v1", "kind": "List", "items": [policy, binding]}


def test_a_policy_that_says_no_is_quoted_and_asked_again(lab: Lab) -> None:
    do(lab, "apply", "-f", "-", text=json.dumps(no_pods(lab.namespace)))
    try:
        trial = ("run", "trial", "--image=i", "--dry-run=server")
        eventually(lambda: "not today" in lab.server.kubectl("-n", lab.namespace, *trial).stderr)
        lab.apply(a_job())
        eventually(lambda: "not today" in lab.status.get("message", ""))
        assert lab.status["phase"] == "Pending"
        created = next(it for it in lab.status["conditions"] if it["type"] == "PodsCreated")
        assert (created["status"], created["reason"]) == ("False", "Forbidden")
        assert not lab.pods
    finally:
        kinds = "validatingadmissionpolicybindings,validatingadmissionpolicies"
        do(lab, "delete", kinds, "no-pods")
    lab.until_created()
    eventually(lambda: lab.status["message"] == "")


def test_owning_with_a_block_is_allowed_where_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = server._command  # noqa: SLF001
    strict = "--enable-admission-plugins=OwnerReferencesPermissionEnforcement"
    monkeypatch.setattr(server, "_command", lambda *args: [*plain(*args), strict])
    with api_server(tmp_path) as asking:
        assert asking.kubectl("apply", "-f", str(CRDS)).returncode == 0
        eventually(lambda: asking.kubectl("get", "trainingjobs").returncode == 0)
        folder = tmp_path / "operator"
        folder.mkdir()
        with stage(asking, folder) as lab:
            lab.apply(a_job())
            lab.until_created()
            pod = lab.core.read_namespaced_pod("job-master", lab.namespace)
            (owner,) = pod.metadata.owner_references
            assert owner.block_owner_deletion
            assert _refused_without_the_permission(lab, owner)


def _refused_without_the_permission(lab: Lab, owner: Any) -> bool:
    """The proof that the server does ask: who may only create pods may not own one so."""
    do(lab, "create", "role", "poor", "--verb=create", "--resource=pods")
    do(lab, "create", "rolebinding", "poor", "--role=poor", "--user=poor")
    reference = {
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "name": owner.name,
        "uid": owner.uid,
        "blockOwnerDeletion": True,
    }
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "poor", "ownerReferences": [reference]},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    args = ("-n", lab.namespace, "create", "--as=poor", "-f", "-")
    done = lab.server.kubectl(*args, input=json.dumps(body))
    return "cannot set blockOwnerDeletion" in done.stderr
