"""A private API server with its own etcd, because only the real one knows its rules.

Schemas, CEL, field validation and watches are what the operator leans on, and every emulation
of them is a guess. No controllers run beside it: what a test makes stays as the test left it.
"""

import http.client
import os
import secrets
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from localcluster import binaries

TOKEN = "private"
PROGRAMS = ("etcd", "kube-apiserver", "kubectl")
START_SECONDS = 90
PORTS = range(20_000, 30_000)  # below NodePorts and ephemeral ports
AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiServer:
    """Where the server is and how to speak to it as an administrator."""

    url: str
    token: str
    kubeconfig: Path
    ca: Path
    audit_log: Path
    programs: Path

    def kubectl(
        self,
        *args: str,
        input: str | None = None,  # noqa: A002 - the name that subprocess.run gives it
    ) -> subprocess.CompletedProcess[str]:
        """What kubectl answers; the caller looks at the exit status."""
        command = [str(self.programs / "kubectl"), f"--kubeconfig={self.kubeconfig}", *args]
        home = {"HOME": str(self.kubeconfig.parent), "PATH": os.environ["PATH"]}
        return subprocess.run(
            command, input=input, env=home, capture_output=True, text=True, check=False, timeout=60
        )


@contextmanager
def api_server(folder: Path, *flags: str, users: Sequence[str] = ()) -> Iterator[ApiServer]:
    """A server that answers, with all it writes in the folder; it is gone afterwards.

    Users are further administrators, whose names are their tokens.
    """
    programs = _programs()
    with _etcd(programs / "etcd", folder) as etcd_url:
        port = _free_port()
        server = ApiServer(
            url=f"https://127.0.0.1:{port}",
            token=TOKEN,
            kubeconfig=folder / "kubeconfig",
            ca=folder / "certs" / "apiserver.crt",
            audit_log=folder / "audit.log",
            programs=programs,
        )
        _write_files(server, folder, [TOKEN, *users])
        command = [*_command(programs / "kube-apiserver", folder, port, etcd_url), *flags]
        with running(command, folder / "kube-apiserver.log") as process:
            _wait(process, port, folder / "kube-apiserver.log")
            yield server


def _programs() -> Path:
    """The folder that controller-runtime's tests use, where it is named; else our own builds."""
    if assets := os.environ.get("KUBEBUILDER_ASSETS"):
        return Path(assets)
    return binaries.ensure(PROGRAMS)


@contextmanager
def _etcd(program: Path, folder: Path) -> Iterator[str]:
    url = f"http://127.0.0.1:{_free_port()}"
    command = [
        str(program),
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls={url}",
        f"--advertise-client-urls={url}",
        "--listen-peer-urls=http://127.0.0.1:0",
        "--unsafe-no-fsync",
        "--log-level=error",
    ]
    with running(command, folder / "etcd.log"):
        yield url


def _command(program: Path, folder: Path, port: int, etcd_url: str) -> list[str]:
    return [
        str(program),
        f"--etcd-servers={etcd_url}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        f"--secure-port={port}",
        f"--cert-dir={folder / 'certs'}",
        f"--token-auth-file={folder / 'tokens.csv'}",
        "--authorization-mode=RBAC",
        "--disable-admission-plugins=ServiceAccount",  # nobody makes default accounts here
        "--service-cluster-ip-range=10.0.0.0/16",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        f"--service-account-key-file={folder / 'accounts.key'}",
        f"--service-account-signing-key-file={folder / 'accounts.key'}",
        "--endpoint-reconciler-type=none",
        f"--audit-policy-file={folder / 'audit-policy.yaml'}",
        f"--audit-log-path={folder / 'audit.log'}",
        "--audit-log-maxsize=4000",  # MB: a new file in the middle would hide what was asked before
    ]


def _write_files(server: ApiServer, folder: Path, tokens: Sequence[str]) -> None:
    names = {token: "admin" if token == TOKEN else token for token in tokens}
    lines = [f'{token},{name},{name},"system:masters"\n' for token, name in names.items()]
    (folder / "tokens.csv").write_text("".join(lines))
    (folder / "audit-policy.yaml").write_text(yaml.safe_dump(AUDIT_POLICY))
    (folder / "accounts.key").write_bytes(_private_key())
    server.kubeconfig.write_text(yaml.safe_dump(_kubeconfig(server)))


def _private_key() -> bytes:
    return ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


def _kubeconfig(server: ApiServer) -> dict[str, object]:
    cluster = {"server": server.url, "certificate-authority": str(server.ca)}
    context = {"cluster": "private", "user": "admin", "namespace": "default"}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "private", "cluster": cluster}],
        "users": [{"name": "admin", "user": {"token": server.token}}],
        "contexts": [{"name": "private", "context": context}],
        "current-context": "private",
    }


@contextmanager
def running(command: Sequence[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The process, killed in the end: an API server with open watches takes its time to go."""
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not _answers(port):
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"the API server did not start:\n{log.read_text()[-3000:]}")
        time.sleep(0.1)


def _answers(port: int) -> bool:
    """True once it calls itself ready; whom we speak to is no question on our own loopback."""
    unchecked = ssl._create_unverified_context()  # noqa: S323, SLF001
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=unchecked, timeout=5)
    try:
        connection.request("GET", "/readyz", headers={"Authorization": f"Bearer {TOKEN}"})
        return connection.getresponse().status == http.client.OK
    except OSError:
        return False
    finally:
        connection.close()


def _free_port() -> int:
    """A port that no outgoing connection is given: the server takes seconds until it binds."""
    while True:
        port = secrets.choice(PORTS)
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port
