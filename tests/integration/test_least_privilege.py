"""The operator lives a job's whole life on the chart's permissions, and the audit log is the proof.

The server notes who asked for what, so a call without its permission shows as a refusal, and a
permission without its call shows as never used.
"""

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from chart import rendering
from integration.operators import free_port
from integration.server import ApiServer
from trainingjobs.cluster.rbac import LEADING, READING, REVIEWS, RULES

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
        "ttlSecondsAfterFinished": 3,
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
CRASHED = {**TRAINED, "state": {"terminated": {"exitCode": 1, "reason": "Error"}}}
FAILED = json.dumps({"status": {"phase": "Failed", "containerStatuses": [CRASHED]}})
FOREIGN: dict[str, dict[str, Any]] = {
    "pod": {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "short-master", "namespace": NAMESPACE},
        "spec": {"containers": [{"name": "c", "image": "i"}], "serviceAccountName": "default"},
    },
    "service": {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "short", "namespace": NAMESPACE},
        "spec": {"ports": [{"port": 80}]},
    },
}
"""What somebody else has made under the names of the job's own."""
MESSAGE = "-ojsonpath={.status.message}"
GRANTED = (*RULES, *REVIEWS, *READING, *LEADING)
ALLOWED = {(it.group, it.resource, verb) for it in GRANTED for verb in it.verbs}
RBAC = ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
ELSEWHERE = {
    # this server has none; test_gang.py shows that each of their verbs is used
    *(use for use in ALLOWED if use[1] == "podgroups"),
    # never a call: asked for by an admission plugin, where that is on
    ("trainingjob.dev", "trainingjobs/finalizers", "update"),
}
"""Granted, and not used in the life that is told here: each for this reason and no other."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """The operator of one namespace, as the account that the chart gives it."""

    process: subprocess.Popen[bytes]
    port: int
    """Where it takes reports."""

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """It neither hears nor does anything meanwhile."""
        self.process.send_signal(signal.SIGSTOP)
        yield
        self.process.send_signal(signal.SIGCONT)


@pytest.fixture
def running(apiserver: ApiServer, tmp_path: Path) -> Iterator[Running]:
    """It runs, and takes reports."""
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
                "TRAININGJOBS_LEASE": f"{rendering.NAMESPACE}/{ACCOUNT}",
                "POD_NAME": RELEASE,
            },
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            yield Running(process=process, port=port)
        finally:
            process.send_signal(signal.SIGCONT)
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
        if entry["user"].get("username", "") != USER or not entry.get("objectRef", {}).get(
            "resource"
        ):
            continue
        thing = entry["objectRef"]
        name = "/".join(filter(None, (thing["resource"], thing.get("subresource"))))
        use = (thing.get("apiGroup", ""), name, entry["verb"])
        answers.setdefault(use, set()).add(entry.get("responseStatus", {}).get("code", 0))
    return answers


def report(server: ApiServer, port: int, pod: str) -> int:
    """What is answered to the pod's process that reports."""
    bound = ("--bound-object-kind=Pod", f"--bound-object-name={pod}")
    token = token_for(server, "trainingjob.dev/reports", *bound)
    said = {"version": 1, "process": "p", "rank": 0, "stage": "spawned"}
    return answer(port, "POST", "/api/v1/reports", token, json.dumps(said))


def somebody_reads(server: ApiServer, port: int) -> None:
    """Who has no right asks for the job; a reader with the rights for its events and a log."""
    whole = f"/api/v1/namespaces/{NAMESPACE}/trainingjobs/short"
    nobody = token_for(server, "trainingjob.dev/status")
    assert answer(port, "GET", whole, nobody) == http.client.FORBIDDEN
    role = "--verb=get,list", "--resource=trainingjobs.trainingjob.dev,pods/log,events"
    place = f"--namespace={NAMESPACE}"
    do(server, "create", "serviceaccount", "reader", place)
    do(server, "create", "role", "reader", *role, place)
    bound = f"--serviceaccount={NAMESPACE}:reader"
    do(server, "create", "rolebinding", "reader", "--role=reader", bound, place)
    token = token_for(server, "trainingjob.dev/status", account="reader")

    def reads(what: str, code: int) -> bool:
        return answer(port, "GET", f"{whole}/{what}", token) == code

    until("its right", lambda: reads("events", http.client.OK))
    # of a pod that no kubelet has, the API server itself says that it has written nothing
    assert reads("instances/0/log", http.client.OK)


def token_for(server: ApiServer, audience: str, *bound: str, account: str = "default") -> str:
    whose = (account, f"--namespace={NAMESPACE}", f"--audience={audience}")
    return do(server, "create", "token", *whose, *bound).strip()


def answer(port: int, method: str, path: str, token: str, body: str | None = None) -> int:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    there = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    there.request(method, path, body, headers)
    return there.getresponse().status


def trouble_comes_and_goes(server: ApiServer) -> None:
    """The job's names are taken, one after the other, until somebody clears the way."""
    place = f"--namespace={NAMESPACE}"
    for manifest in FOREIGN.values():
        do(server, "create", "-f-", text=json.dumps(manifest))
    do(server, "create", "-f-", text=json.dumps(JOB))
    for kind, manifest in FOREIGN.items():  # the pod is asked about first
        name = manifest["metadata"]["name"]
        says = partial(do, server, "get", "trainingjob", "short", place, MESSAGE)
        until(kind, partial(contains, says, f"{kind.title()} {name} exists"))
        do(server, "delete", kind, name, place, "--grace-period=0")


def contains(says: Callable[[], str], words: str) -> bool:
    return words in says()


def pods(server: ApiServer) -> list[str]:
    """The pods of the job, its master last: the master's success is the job's."""
    found = do(
        server, "get", "pods", f"--namespace={NAMESPACE}", "-oname", "-ltrainingjob.dev/rank"
    )
    return sorted(found.split(), reverse=True)


def end(server: ApiServer, pod: str, how: str) -> None:
    place = f"--namespace={NAMESPACE}"
    do(server, "patch", pod, place, "--subresource=status", "--type=merge", f"-p={how}")


def test_a_whole_life_needs_these_permissions_and_no_others(
    apiserver: ApiServer, running: Running
) -> None:
    place, job = f"--namespace={NAMESPACE}", "trainingjob/short"
    do(apiserver, "create", "serviceaccount", "default", place)
    trouble_comes_and_goes(apiserver)
    until("two pods", lambda: len(pods(apiserver)) == 2)
    first = pods(apiserver)
    until("a report", lambda: report(apiserver, running.port, "short-master") == http.client.OK)
    somebody_reads(apiserver, running.port)
    do(apiserver, "patch", "service", "short", place, "--type=merge", f"-p={OTHER_PORT}")
    until("its port", lambda: do(apiserver, "get", "service", "short", place, PORT) == "29500")
    end(apiserver, first[0], FAILED)
    attempt = "-ojsonpath={.status.attempt}{.status.replicas}"
    until("a restart", lambda: do(apiserver, "get", job, place, attempt) == "22")
    for pod in pods(apiserver):
        end(apiserver, pod, SUCCEEDED)
    phase = "-ojsonpath={.status.phase}"
    until("its end", lambda: do(apiserver, "get", job, place, phase) == "Succeeded")
    with running.frozen():  # what it deletes then is not what it has last heard of
        do(apiserver, "annotate", job, place, "note=changed")
        time.sleep(5)
    until("no job", lambda: not do(apiserver, "get", "trainingjobs", place, "-oname"))
    uses = used(apiserver)
    assert {use for use, codes in uses.items() if 403 in codes} == set()
    assert set(uses) <= ALLOWED
    assert ALLOWED - set(uses) == ELSEWHERE
