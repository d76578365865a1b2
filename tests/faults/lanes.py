"""Operators to disturb: each a process of its own, with its permissions in its namespaces.

A lane is an operator and the namespaces that it serves, in each of which one job lives at a
time. An operator that ends is started again at once, as a Deployment would.
"""

import asyncio
import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import yaml

from faults.proxy import Place, Proxy
from integration.operators import free_port
from integration.server import ApiServer
from trainingjobs.cluster.rbac import RULES

OPERATOR = Path(os.environ.get("FAULTS_OPERATOR", Path(__file__).parents[2] / "operator"))
START_SECONDS = 180.0
RESYNC_SECONDS = "20"
_CHECK_SECONDS = 0.1
_RBAC = "rbac.authorization.k8s.io"
_WATCHES = 3


@dataclass(slots=True)
class Lane:
    """One operator after the other."""

    name: str
    places: list[Place]
    folder: Path
    report_url: str = ""
    """What pods would be told to report to; none of them runs here."""
    ends: list[int] = field(default_factory=list)
    """Exit codes of operators that ended by themselves."""
    starts: int = 0
    _port: int = 0
    _process: subprocess.Popen[bytes] | None = None
    _watches: set[tuple[str, str]] = field(default_factory=set)
    _watches_all: asyncio.Event = field(default_factory=asyncio.Event)
    _keeper: asyncio.Task[None] | None = None

    async def open(self, proxy: Proxy, server: ApiServer) -> None:
        """Make the namespaces, start the operator and wait until it watches."""
        self.folder.mkdir()
        await asyncio.to_thread(self._admit, server, proxy.port)
        for place in self.places:
            place.kill = self.kill
            proxy.places[place.namespace] = place
        self._start()
        self._keeper = asyncio.create_task(self._keep())
        async with asyncio.timeout(START_SECONDS):
            await self._watches_all.wait()

    def watched(self, namespace: str, plural: str) -> None:
        """The proxy tells of a watch."""
        self._watches.add((namespace, plural))
        if len(self._watches) == _WATCHES * len(self.places):
            self._watches_all.set()

    async def close(self) -> None:
        """End the operator for good."""
        if self._keeper is not None:
            self._keeper.cancel()
            with suppress(asyncio.CancelledError):
                await self._keeper
        self._end()

    async def kill(self) -> None:
        """Kill the operator, without a word, and start it again."""
        self._end()
        for place in self.places:
            for stream in tuple(place.streams):
                stream.hang_up()
        self._start()

    async def complaints(self, session: aiohttp.ClientSession) -> str:
        """What the operator says of its own health; nothing where it is well."""
        try:
            async with session.get(f"http://127.0.0.1:{self._port}/healthz") as answer:
                return "" if answer.status == 200 else await answer.text()
        except aiohttp.ClientError as error:
            return f"it does not answer: {error}"

    def log(self, job: str) -> str:
        """What the operators have logged about a job, and what went wrong at all."""
        text = (self.folder / "operator.log").read_text(errors="replace")
        lines = text.splitlines()[-4000:]
        kept = [line for line in lines if job in line or not line.startswith("{")]
        return "\n".join(kept[-40:])

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(_CHECK_SECONDS)
            code = self._process.poll() if self._process is not None else None
            if code is not None:
                self.ends.append(code)
                self._start()

    def _start(self) -> None:
        self.starts += 1
        self._port = free_port()
        command = [sys.executable, "-m", "trainingjobs", "run", f"--port={self._port}"]
        command += [f"--namespace={place.namespace}" for place in self.places]
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "PYTHONPATH": str(OPERATOR),
            "PYTHONUNBUFFERED": "1",
            "KUBECONFIG": str(self.folder / "kubeconfig"),
            "TRAININGJOBS_RESYNC_SECONDS": RESYNC_SECONDS,
            "TRAININGJOBS_REPORT_URL": self.report_url,
            "TRAININGJOBS_REPORT_PORT": "0",
        }
        with (self.folder / "operator.log").open("ab") as log:
            self._process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)

    def _admit(self, server: ApiServer, port: int) -> None:
        account = {"name": "operator", "namespace": self.places[0].namespace}
        manifests = [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": place.namespace}}
            for place in self.places
        ]
        manifests.append({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})
        manifests += [it for place in self.places for it in _role(place.namespace, account)]
        done = server.kubectl("apply", "-f", "-", input=yaml.safe_dump_all(manifests))
        assert done.returncode == 0, done.stderr
        where = ("-n", account["namespace"], "--duration=4h")
        token = server.kubectl("create", "token", "operator", *where).stdout.strip()
        config = yaml.safe_load(server.kubeconfig.read_text())
        config["clusters"][0]["cluster"] = {"server": f"http://127.0.0.1:{port}"}
        config["users"][0]["user"] = {"token": token}
        (self.folder / "kubeconfig").write_text(yaml.safe_dump(config))


def _role(namespace: str, account: dict[str, str]) -> list[dict[str, object]]:
    rules = [
        {"apiGroups": [rule.group], "resources": [rule.resource], "verbs": list(rule.verbs)}
        for rule in RULES
    ]
    here = {"name": "operator", "namespace": namespace}
    return [
        {"apiVersion": f"{_RBAC}/v1", "kind": "Role", "metadata": here, "rules": rules},
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": here,
            "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": "operator"},
            "subjects": [{"kind": "ServiceAccount", **account}],
        },
    ]
