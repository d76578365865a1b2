"""Messages against a real API server: by the right to one Secret, once, and without its words."""

import json
import signal
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from integration.desk import Desk
from integration.jobs import Body, a_job
from integration.operators import Served, eventually, operator
from integration.server import ApiServer

pytestmark = pytest.mark.integration

NAMESPACE = "notify"
PATH = "/T0/very-secret"
HERE = {
    "TRAININGJOBS_NOTIFY": "true",
    "TRAININGJOBS_NOTIFY_HTTP": "true",
    "TRAININGJOBS_NOTIFY_NETWORKS": "127.0.0.0/8",
}
ENDED = {
    "name": "trainer",
    "image": "i",
    "imageID": "",
    "ready": False,
    "restartCount": 0,
    "state": {"terminated": {"exitCode": 0, "reason": "Completed"}},
}


class Hook(BaseHTTPRequestHandler):
    """It takes every message."""

    heard: list[tuple[str, Any]]

    def do_POST(self) -> None:
        """Take one."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.heard.append((self.path, json.loads(body)))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def hook() -> Iterator[tuple[int, list[tuple[str, Any]]]]:
    """Its port, and what it has heard."""
    heard: list[tuple[str, Any]] = []
    kind = type("Heard", (Hook,), {"heard": heard})
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    yield server.server_address[1], heard
    server.shutdown()
    serving.join()
    server.server_close()


class Lab(Served):
    """Jobs of one pod, which end at once."""

    def run(self, name: str) -> Body:
        """A job comes and succeeds; its status once its moment is over."""
        asked = {"secretName": "team-hook", "when": ["Finished"]}
        self.apply(a_job(name, PARALLEL_INSTANCES=1, notify=asked))
        pod = f"{name}-master"
        eventually(lambda: pod in self.pods())
        status = {"phase": "Succeeded", "containerStatuses": [ENDED]}
        self.core.patch_namespaced_pod_status(pod, self.namespace, {"status": status})
        eventually(lambda: self.status_of(name).get("notified") == ["Finished"])
        return self.status_of(name)

    def pods(self) -> list[str]:
        """Their names."""
        return [pod.metadata.name for pod in self.core.list_namespaced_pod(self.namespace).items]

    def said(self, reason: str) -> list[str]:
        """Messages of events."""
        listed = self.core.list_namespaced_event(self.namespace).items
        return [event.message for event in listed if event.reason == reason]

    def may_get(self, secret: str) -> bool:
        """Whether the operator may read it."""
        who = f"--as=system:serviceaccount:{self.namespace}:operator"
        asked = ("auth", "can-i", "get", f"secret/{secret}", "-n", self.namespace, who)
        return self.server.kubectl(*asked).stdout.strip() == "yes"

    def kubectl(self, *args: str) -> None:
        """What an owner of the namespace does."""
        done = self.server.kubectl(*args, "-n", self.namespace)
        assert done.returncode == 0, done.stderr


def test_a_message_is_sent_once_by_whoever_may_read_the_one_secret(
    apiserver: ApiServer, tmp_path: Path, hook: tuple[int, list[tuple[str, Any]]]
) -> None:
    port, heard = hook
    with operator(apiserver, NAMESPACE, tmp_path, settings=HERE) as served:
        lab = Lab(apiserver, served)
        for name in ("team-hook", "other"):
            url = f"--from-literal=url=http://127.0.0.1:{port}{PATH}"
            lab.kubectl("create", "secret", "generic", name, url)
        lab.run("early")
        (words,) = lab.said("NotNotified")
        assert "may not get the Secret team-hook" in words
        assert heard == []
        role = ("--verb=get", "--resource=secrets", "--resource-name=team-hook")
        lab.kubectl("create", "role", "notify", *role)
        account = f"--serviceaccount={NAMESPACE}:operator"
        lab.kubectl("create", "rolebinding", "notify", "--role=notify", account)
        eventually(lambda: lab.may_get("team-hook"))
        assert not lab.may_get("other")
        status = lab.run("late")
        text = f"{NAMESPACE}/late has succeeded: {status['message']}"
        assert heard == [(PATH, {"text": text})]
        served.stop(signal.SIGKILL)
        served.start()
        lab.run("later")
        assert len(heard) == 2, "what was told before is told once"
        assert len(lab.said("NotNotified")) == 1
        assert "very-secret" not in served.log()
        assert "very-secret" not in json.dumps([lab.status_of(it) for it in ("early", "late")])


RUNNING = {
    "phase": "Running",
    "conditions": [{"type": type_, "status": "True"} for type_ in ("PodScheduled", "Ready")],
    "containerStatuses": [
        {**ENDED, "ready": True, "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}
    ],
}


HANGS = {
    "rank": 0,
    "worldSize": 1,
    "stage": "stepping",
    "stageSeconds": 200.0,
    "steps": 5,
    "quietSeconds": 100.0,
    "waitsIn": None,
    "frames": [{"file": "train.py", "line": 17, "function": "load", "user": True}],
}


def test_a_stall_is_told_with_the_line_while_the_job_goes_on(
    apiserver: ApiServer, tmp_path: Path, hook: tuple[int, list[tuple[str, Any]]]
) -> None:
    port, heard = hook
    with operator(apiserver, "notify-stall", tmp_path, settings=HERE, roll_call=True) as served:
        desk = Desk(apiserver, served)
        desk.do("create", "serviceaccount", "default")
        desk.do("create", "role", "notify", "--verb=get", "--resource=secrets")
        account = f"--serviceaccount={desk.namespace}:operator"
        desk.do("create", "rolebinding", "notify", "--role=notify", account)
        url = f"--from-literal=url=http://127.0.0.1:{port}{PATH}"
        desk.do("create", "secret", "generic", "team-hook", url)
        asked = {"secretName": "team-hook", "when": ["Stalled"]}
        job = a_job("hangs", PARALLEL_INSTANCES=1, stallTimeoutSeconds=1, notify=asked)
        job["spec"]["template"]["spec"]["serviceAccountName"] = "default"
        desk.apply(job)
        eventually(lambda: "hangs-master" in desk.do("get", "pods", "-oname"))
        desk.core.patch_namespaced_pod_status("hangs-master", desk.namespace, {"status": RUNNING})
        token = desk.pods_token("hangs-master")

        def told() -> bool:
            desk.report(token, **HANGS)
            return bool(heard)

        eventually(told)
        assert desk.status_of("hangs")["phase"] == "Running"
        ((path, body),) = heard
        assert path == PATH
        assert body["text"].startswith("notify-stall/hangs has stalled: rank 0")
        assert "train.py:17" in body["text"]
