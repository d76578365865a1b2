"""The operator lives a job's whole life on the chart's permissions, and the audit log is the proof.

The server notes who asked for what, so a call without its permission shows as a refusal, and a
permission without its call shows as never used.
"""

import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from chart import rendering
from integration.operators import free_port
from integration.server import ApiServer
from trainingjobs.cluster.rbac import REVIEWS, RULES

pytestmark = pytest.mark.integration

NAMESPACE = "least-privilege"
RELEASE = "least"
ACCOUNT = f"{RELEASE}-{rendering.NAME}"
USER = f"system:serviceaccount:{rendering.NAMESPACE}:{ACCOUNT}"
JOB = {
    "apiVersion": "trainingjob.dev/v1",
    "kind": "TrainingJob",
    "metadata": {"name": "short", "namespace": NAMESPACE},
    "spec": {
        "PARALLEL_INSTANCES": 2,
        "framework": "MPI",  # needs all that another needs, and a Secret
        "cleanPodPolicy": "All",
        "ttlSecondsAfterFinished": 1,
        "template": {
            "spec": {
                "serviceAccountName": "default",  # this server gives none to a pod
                "containers": [{"name": "trainer", "image": "my/trainer:1", "command": ["mpirun"]}],
            }
        },
    },
}
TRAINED = {
    "name": "trainer",
    "image": "my/trainer:1",
    "imageID": "",
    "ready": False,
    "restartCount": 0,
    "state": {"terminated": {"exitCode": 0, "reason": "Completed"}},
}
OTHER_PORT = json.dumps({"spec": {"ports": [{"name": "rendezvous", "port": 4000}]}})
PORT = "-ojsonpath={.spec.ports[*].port}"
SUCCEEDED = json.dumps({"status": {"phase": "Succeeded", "containerStatuses": [TRAINED]}})
ALLOWED = {(it.group, it.resource, verb) for it in (*RULES, *REVIEWS) for verb in it.verbs}
RBAC = ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
RARE = {
    # a second look where a write met another
    *((rule.group, rule.resource, "get") for rule in RULES),
    # somebody asks for a status: test_reports.py does
    ("authorization.k8s.io", "subjectaccessreviews", "create"),
    # this server has none; test_gang.py makes, changes and deletes some
    *(use for use in ALLOWED if use[1] == "podgroups"),
    # the same event once more
    ("", "events", "patch"),
    # never a call: asked for by an admission plugin, where that is on
    ("trainingjob.dev", "trainingjobs/finalizers", "update"),
}

Use = tuple[str, str, str]


def until(what: str, holds: Callable[[], bool]) -> None:
    """Wait for it, for as long as a busy machine may need."""
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        time.sleep(0.2)


def do(server: ApiServer, *args: str, text: str | None = None) -> str:
    done = server.kubectl(*args, input=text)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def port(apiserver: ApiServer, tmp_path: Path) -> Iterator[int]:
    """The operator of one namespace, as the account that the chart gives it; it takes reports."""
    for namespace in (NAMESPACE, rendering.NAMESPACE):
        apiserver.kubectl("create", "namespace", namespace)
    values = {"namespaces": [NAMESPACE], "crds": {"install": False}}
    manifests = rendering.helm(tmp_path).render(values, release=RELEASE)
    kept = rendering.of_kind(manifests, "ServiceAccount", *RBAC)
    do(apiserver, "apply", "-f", "-", text=yaml.safe_dump_all(kept))
    token = do(apiserver, "create", "token", ACCOUNT, f"--namespace={rendering.NAMESPACE}")
    log, port = tmp_path / "operator.log", free_port()
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "trainingjobs", "run", f"--namespace={NAMESPACE}", "--port=0"],
            env={
                **os.environ,
                "KUBECONFIG": str(kubeconfig(apiserver, token, tmp_path)),
                "TRAININGJOBS_REPORT_URL": "http://nobody.test/api/v1/reports",
                "TRAININGJOBS_REPORT_PORT": str(port),
            },
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            yield port
        finally:
            process.terminate()
            process.wait(timeout=30)
            sys.stderr.write(log.read_text())  # pytest shows it when the test fails


def kubeconfig(server: ApiServer, token: str, folder: Path) -> Path:
    """The server's kubeconfig, for the bearer of this token instead of the administrator."""
    config = yaml.safe_load(server.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token.strip()}
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return path


def used(server: ApiServer) -> dict[Use, set[int]]:
    """What the operator asked of resources, and with which codes it was answered."""
    answers: dict[Use, set[int]] = {}
    for line in server.audit_log.read_text().splitlines():
        entry = json.loads(line)
        if entry["user"]["username"] != USER or not entry.get("objectRef", {}).get("resource"):
            continue
        thing = entry["objectRef"]
        name = "/".join(filter(None, (thing["resource"], thing.get("subresource"))))
        use = (thing.get("apiGroup", ""), name, entry["verb"])
        answers.setdefault(use, set()).add(entry.get("responseStatus", {}).get("code", 0))
    return answers


def report(server: ApiServer, port: int, pod: str) -> bool:
    """The pod's process reports; true when it was taken."""
    bound = ("--bound-object-kind=Pod", f"--bound-object-name={pod}")
    whose = ("default", f"--namespace={NAMESPACE}", "--audience=trainingjob.dev/reports")
    token = do(server, "create", "token", *whose, *bound).strip()
    said = {"version": 1, "process": "p", "rank": 0, "stage": "spawned"}
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    there = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    there.request("POST", "/api/v1/reports", json.dumps(said), headers)
    return there.getresponse().status == http.client.OK


def test_a_whole_life_needs_these_permissions_and_no_others(
    apiserver: ApiServer, port: int
) -> None:
    place = f"--namespace={NAMESPACE}"
    do(apiserver, "create", "serviceaccount", "default", place)
    do(apiserver, "create", "-f", "-", text=json.dumps(JOB))
    until("two pods", lambda: do(apiserver, "get", "pods", place, "-oname").count("pod/") == 2)
    until("a report", lambda: report(apiserver, port, "short-master"))
    do(apiserver, "patch", "service", "short", place, "--type=merge", f"-p={OTHER_PORT}")
    until("its port", lambda: do(apiserver, "get", "service", "short", place, PORT) == "29500")
    patch = ("--subresource=status", "--type=merge", f"-p={SUCCEEDED}")
    # the master comes last: its success is the job's
    for pod in reversed(do(apiserver, "get", "pods", place, "-oname").split()):
        do(apiserver, "patch", pod, place, *patch)
    until("no job", lambda: not do(apiserver, "get", "trainingjobs", place, "-oname"))
    uses = used(apiserver)
    assert {use for use, codes in uses.items() if 403 in codes} == set()
    assert set(uses) <= ALLOWED
    assert ALLOWED - set(uses) <= RARE
