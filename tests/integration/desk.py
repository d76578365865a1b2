"""An operator's service for reports, asked over HTTP with tokens of a real API server."""

import json
import urllib.error
import urllib.request
from typing import Any

from integration.jobs import Body
from integration.operators import Served

AUDIENCE = "trainingjob.dev/reports"
REPORT = {"version": 1, "process": "p-0", "stage": "joining", "waitsIn": "init_process_group"}


class Desk(Served):
    """The service, and all the tokens that somebody could show it."""

    def do(self, *args: str, text: str | None = None) -> str:
        """What kubectl says."""
        done = self.server.kubectl(*args, "-n", self.namespace, input=text)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def token(self, account: str = "default", *options: str) -> str:
        """A token of an account."""
        return self.do("create", "token", account, *options)

    def pods_token(self, pod: str, audience: str = AUDIENCE) -> str:
        """What the kubelet would put into this pod."""
        bound = ("--bound-object-kind=Pod", f"--bound-object-name={pod}")
        return self.token("default", f"--audience={audience}", *bound)

    def report(self, token: str, **changes: Any) -> tuple[int, Body]:
        """Send a report."""
        body = json.dumps({**REPORT, **changes}).encode()
        return self._call("/api/v1/reports", token, body)

    def get(self, name: str, token: str) -> tuple[int, Body]:
        """Ask for the whole status."""
        return self._call(f"/api/v1/namespaces/{self.namespace}/trainingjobs/{name}", token)

    def ranks(self, token: str) -> dict[int, str | None]:
        """Where the ranks stand."""
        return {it["rank"]: it["stage"] for it in self.get("counted", token)[1]["ranks"]}

    def _call(self, path: str, token: str, body: bytes | None = None) -> tuple[int, Body]:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        wanted = urllib.request.Request(self.operator.service + path, body, headers)  # noqa: S310
        try:
            with urllib.request.urlopen(wanted, timeout=20) as answer:  # noqa: S310
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)
