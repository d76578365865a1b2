"""The test stand: a private API server, and a kubeconfig for each that speaks to it."""

import http.client
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from benchmarks.compare.audit import Audit
from benchmarks.compare.client import Client, Json
from integration.server import ApiServer, api_server, running
from localcluster import binaries, cache

USERS: Final = ("ours", "jobset", "training-operator", "kube-controller-manager", "kwok", "raw")
ROOT: Final = Path(__file__).parents[2]
PATIENCE: Final = 90.0


@dataclass(frozen=True, slots=True)
class Stand:
    """One API server and the folder of all that runs beside it."""

    server: ApiServer
    folder: Path
    audit: Audit

    @property
    def raw(self) -> Path:
        """Where the raw floor listens."""
        return self.folder / "raw.sock"

    def client(self) -> Client:
        """The benchmark's own hands."""
        return Client(self.server.url, self.server.ca, self.server.token)

    def kubeconfig(self, user: str) -> Path:
        """The way in for one user."""
        path = self.folder / f"{user}.kubeconfig"
        access = yaml.safe_load(self.server.kubeconfig.read_text())
        access["users"][0]["user"] = {"token": user}
        path.write_text(yaml.safe_dump(access))
        return path

    def apply(self, *manifests: Json) -> None:
        """Put these there, however large they are.

        Raises:
            RuntimeError: with what kubectl says.
        """
        flags = ("--server-side", "--force-conflicts", "-f", "-")
        done = self.server.kubectl("apply", *flags, input=yaml.safe_dump_all(manifests))
        if done.returncode:
            raise RuntimeError(done.stderr)

    @contextmanager
    def process(
        self, name: str, command: Sequence[str], env: Mapping[str, str] | None = None
    ) -> Iterator[subprocess.Popen[bytes]]:
        """A program that runs meanwhile, with a log of its name in the folder."""
        argv = ["env", *(f"{key}={value}" for key, value in (env or {}).items()), *command]
        with running(argv, self.folder / f"{name}.log") as process:
            yield process


@contextmanager
def stand(folder: Path) -> Iterator[Stand]:
    """A new one, with our resource definition in it."""
    folder.mkdir(parents=True)
    with api_server(folder, users=USERS) as server:
        made = Stand(server, folder, Audit(server.audit_log))
        made.apply(yaml.safe_load((ROOT / "crds" / "trainingjob.yaml").read_text()))
        yield made


def answers(port: int) -> bool:
    """Whether a program says that it is ready."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.client.OK
    except OSError:
        return False
    finally:
        connection.close()


def until(holds: Callable[[], bool], what: str, process: subprocess.Popen[bytes]) -> None:
    """Wait for a program.

    Raises:
        RuntimeError: when it ends, or does not come to it in time.
    """
    deadline = time.monotonic() + PATIENCE
    while not holds():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"{what}: not in {PATIENCE:.0f} s (exit code {process.poll()})")
        time.sleep(0.1)


def ports(number: int) -> list[int]:
    """Ports that nobody has."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(number)]
        for it in sockets:
            it.bind(("127.0.0.1", 0))
        return [int(it.getsockname()[1]) for it in sockets]


def kubernetes(program: str) -> str:
    """A program of the Kubernetes that the local cluster pins."""
    return str(binaries.ensure([program]) / program)


def environment() -> dict[str, str]:
    """What a Python program of ours needs to find its modules."""
    paths = (ROOT / "operator", ROOT, ROOT / "tests")
    return {
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        # compiled once, as in the image
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONPYCACHEPREFIX": str(cache.folder() / "pycache"),
    }
