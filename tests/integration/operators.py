"""The operator as users run it: a process of its own, with exactly its permissions.

It serves one namespace and speaks with a service account's token, so what the API server
says in its audit log of that account is all that the operator did.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import yaml
from kubernetes import client, config

from integration.server import ApiServer
from trainingjobs.cluster.rbac import LEADING, READING, REVIEWS, RULES, Rule

Body = dict[str, Any]
Found = TypeVar("Found")

SECONDS = 30.0


def eventually(question: Callable[[], Found], seconds: float = SECONDS) -> Found:
    """The first true answer.

    Raises:
        AssertionError: when there is none in time.
    """
    deadline = time.monotonic() + seconds
    while True:
        answer = question()
        if answer:
            return answer
        assert time.monotonic() < deadline, f"still {answer!r} after {seconds} s"
        time.sleep(0.05)


@dataclass(slots=True)
class Operator:
    """One operator process after the other, in one namespace."""

    server: ApiServer
    namespace: str
    folder: Path
    roll_call: bool = False
    lease: str = ""
    pod: str = "operator"
    """What it calls itself: in the Lease, and to the API server."""
    program: tuple[str, ...] = ("-m", "trainingjobs")
    port: int = 0
    report_port: int = 0
    settings: Mapping[str, str] = field(default_factory=dict)
    """More variables of its environment."""
    process: subprocess.Popen[bytes] | None = None
    _from: int = field(default=0)

    def start(self) -> None:
        """Start it and wait until it has listed all jobs."""
        self.port = free_port()
        command = [sys.executable, *self.program, "run"]
        command += ["--namespace", self.namespace, "--port", str(self.port)]
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "PYTHONPATH": str(Path(__file__).parents[2] / "operator"),
            "KUBECONFIG": str(self.folder / "kubeconfig"),
            "POD_NAME": self.pod,
            "TRAININGJOBS_LEASE": self.lease,
            **self.settings,
        }
        if self.roll_call:
            self.report_port = free_port()
            environment["TRAININGJOBS_REPORT_PORT"] = str(self.report_port)
            environment["TRAININGJOBS_REPORT_URL"] = f"{self.service}/api/v1/reports"
        with (self.folder / "operator.log").open("ab") as log:
            self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        eventually(self.is_ready)

    @property
    def service(self) -> str:
        """Where its roll call is served."""
        return f"http://127.0.0.1:{self.report_port}"

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """End it; the exit code."""
        assert self.process is not None
        self.process.send_signal(how)
        code = self.process.wait(timeout=20)
        self.process = None
        return code

    def is_ready(self) -> bool:
        """True when it says so."""
        assert self.process is not None
        assert self.process.poll() is None, self.log()[-3000:]
        try:
            with urllib.request.urlopen(
                f"http://127.0.0.1:{self.port}/readyz", timeout=2
            ) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def leads(self) -> bool:
        """True when it says that it leads."""
        try:
            url = f"http://127.0.0.1:{self.port}/leader"
            with urllib.request.urlopen(url, timeout=2) as answer:
                return bool(json.load(answer)["leads"])
        except OSError:
            return False

    def log(self) -> str:
        """All that it has logged."""
        return (self.folder / "operator.log").read_text()

    def forget_requests(self) -> None:
        """Count requests from now on."""
        self._from = len(self._audit())

    def requests(self) -> list[tuple[str, str]]:
        """What it asked of the API server since then: verbs and URLs without watches."""
        lines = [json.loads(line) for line in self._audit()[self._from :]]
        who = f"system:serviceaccount:{self.namespace}:operator"
        return [
            (it["verb"], it["requestURI"])
            for it in lines
            if it["user"].get("username", "") == who
            and it["stage"] == "ResponseComplete"
            and it["verb"] != "watch"
        ]

    def writes(self, what: str = "") -> list[tuple[str, str]]:
        """The requests that change something."""
        reads = {"get", "list"}
        return [
            (verb, url)
            for verb, url in self.requests()
            if verb not in reads and "dryRun" not in url and what in url
        ]

    def refused(self) -> list[str]:
        """URLs for which it lacked a permission."""
        lines = (json.loads(line) for line in self._audit())
        return [
            it["requestURI"]
            for it in lines
            if self.namespace in it["user"].get("username", "")
            and it.get("responseStatus", {}).get("code") == 403
            and it.get("annotations", {}).get("authorization.k8s.io/decision") == "forbid"
        ]

    def _audit(self) -> list[str]:
        return self.server.audit_log.read_text().splitlines()


@contextmanager
def operator(
    server: ApiServer,
    namespace: str,
    folder: Path,
    *,
    roll_call: bool = False,
    settings: Mapping[str, str] | None = None,
) -> Iterator[Operator]:
    """A running operator in a new namespace."""
    _admit(server, namespace)
    enter(server, namespace, folder)
    process = Operator(server, namespace, folder, roll_call, settings=settings or {})
    try:
        process.start()
        yield process
    finally:
        if process.process is not None:
            process.stop(signal.SIGKILL)


@contextmanager
def replicas(
    server: ApiServer, namespace: str, folder: Path, *, url: str = ""
) -> Iterator[dict[str, Operator]]:
    """Two operators of one namespace; the first leads, and can stand still; a URL is their way."""
    _admit(server, namespace)
    leader = _permission({"name": "operator-leader", "namespace": namespace}, "Role", LEADING)
    done = server.kubectl("apply", "-f", "-", input=yaml.safe_dump_all(leader))
    assert done.returncode == 0, done.stderr
    pair = {}
    try:
        for name in ("one", "two"):
            home = folder / name
            home.mkdir()
            enter(server, namespace, home, url)
            lease = f"{namespace}/operator"
            pair[name] = Operator(server, namespace, home, lease=lease, pod=name)
            if name == "one":
                pair[name].program = (str(Path(__file__).with_name("stands_still.py")),)
            pair[name].start()
            eventually(lambda: any(it.leads() for it in pair.values()))
        yield pair
    finally:
        for process in pair.values():
            if process.process is not None:
                process.stop(signal.SIGKILL)


def enter(server: ApiServer, namespace: str, folder: Path, url: str = "") -> None:
    """Give an operator what it enters the server with."""
    token = server.kubectl("create", "token", "operator", "-n", namespace).stdout.strip()
    access = yaml.safe_load(server.kubeconfig.read_text())
    access["users"][0]["user"] = {"token": token}
    access["clusters"][0]["cluster"]["server"] = url or server.url
    (folder / "kubeconfig").write_text(yaml.safe_dump(access))


class Served:
    """A namespace with an operator in it, and the hands of an administrator."""

    def __init__(self, server: ApiServer, served: Operator) -> None:
        self.server = server
        self.operator = served
        self.namespace = served.namespace
        api = config.new_client_from_config(str(server.kubeconfig))
        self.core = client.CoreV1Api(api)
        self.custom = client.CustomObjectsApi(api)

    def apply(self, body: Body) -> None:
        """The user applies a manifest."""
        text = yaml.safe_dump(body)
        done = self.server.kubectl("apply", "-n", self.namespace, "-f", "-", input=text)
        assert done.returncode == 0, done.stderr

    def status_of(self, job: str) -> Body:
        """What a job says."""
        where = ("trainingjob.dev", "v1", self.namespace, "trainingjobs", job)
        found: Body = self.custom.get_namespaced_custom_object(*where).get("status") or {}
        return found


def _admit(server: ApiServer, namespace: str) -> None:
    name = {"name": "operator", "namespace": namespace}
    manifests = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": name},
        *_permission(name, "Role", (*RULES, *READING)),
        *_permission({**name, "name": f"operator-{namespace}"}, "ClusterRole", REVIEWS),
    ]
    done = server.kubectl("apply", "-f", "-", input=yaml.safe_dump_all(manifests))
    assert done.returncode == 0, done.stderr


def _permission(name: Body, kind: str, rules: tuple[Rule, ...]) -> list[Body]:
    rbac = "rbac.authorization.k8s.io"
    metadata = {"apiVersion": f"{rbac}/v1", "metadata": name}
    allowed = [
        {"apiGroups": [rule.group], "resources": [rule.resource], "verbs": list(rule.verbs)}
        for rule in rules
    ]
    account = {"kind": "ServiceAccount", "name": "operator", "namespace": name["namespace"]}
    to = {"apiGroup": rbac, "kind": kind, "name": name["name"]}
    return [
        {**metadata, "kind": kind, "rules": allowed},
        {**metadata, "kind": f"{kind}Binding", "roleRef": to, "subjects": [account]},
    ]


def free_port() -> int:
    """A port that nobody has."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
