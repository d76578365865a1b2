"""How the peers are started: their programs, what they are deployed with, and their webhooks.

Webhooks stay as their modules have them. The API server reaches them by a service of the right
name that points to this machine, and the certificates are what the operators make themselves;
what a kubelet would mount, the benchmark writes to where the programs look for it.
"""

import base64
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import yaml

from benchmarks.compare import programs
from benchmarks.compare.programs import JOBSET, TRAINING_OPERATOR, Json
from benchmarks.compare.stand import Stand, answers, kubernetes, ports, until

CERTIFICATES: Final = Path("/tmp/k8s-webhook-server/serving-certs")  # noqa: S108 - theirs
_KINDS: Final = frozenset(
    {
        "CustomResourceDefinition",
        "Namespace",
        "Secret",
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    }
)


@contextmanager
def jobset(stand: Stand, qps: int) -> Iterator[subprocess.Popen[bytes]]:
    """JobSet with its own configuration file; its own limit is at 500 a second."""
    webhooks, health, metrics = ports(3)
    folder = programs.source(JOBSET) / "config" / "default"
    found = programs.manifests(Path(kubernetes("kubectl")), folder)
    settings = {
        "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": True},
        "webhook": {"port": webhooks},
        "health": {"healthProbeBindAddress": f":{health}"},
        "metrics": {"bindAddress": f":{metrics}"},
    }
    file = stand.folder / "jobset.yaml"
    file.write_text(yaml.safe_dump(settings))
    raised = [f"--kube-api-qps={qps}", f"--kube-api-burst={qps}"] if qps else []
    command = [str(programs.program(JOBSET)), f"--config={file}", "--zap-log-level=2", *raised]
    with _served(stand, found, webhooks):
        env = {"KUBECONFIG": str(stand.kubeconfig("jobset"))}
        with stand.process("jobset", command, env) as process:
            _mount(stand, "jobset-system", "jobset-webhook-server-cert", process)
            until(lambda: answers(health), "jobset", process)
            yield process


@contextmanager
def training_operator(stand: Stand, threads: int) -> Iterator[subprocess.Popen[bytes]]:
    """The Training Operator; it has no flag for its limit of 20 requests a second."""
    webhooks, health, metrics = ports(3)
    folder = programs.source(TRAINING_OPERATOR) / "manifests" / "overlays" / "standalone"
    found = programs.manifests(Path(kubernetes("kubectl")), folder)
    command = [
        str(programs.program(TRAINING_OPERATOR)),
        f"--controller-threads={threads}",
        f"--webhook-server-port={webhooks}",
        f"--health-probe-bind-address=:{health}",
        f"--metrics-bind-address=:{metrics}",
    ]
    with _served(stand, found, webhooks):
        env = {
            "KUBECONFIG": str(stand.kubeconfig("training-operator")),
            "MY_POD_NAMESPACE": "kubeflow",
        }
        with stand.process("training-operator", command, env) as process:
            _mount(stand, "kubeflow", "training-operator-webhook-cert", process)
            until(lambda: answers(health), "the Training Operator", process)
            yield process


@contextmanager
def controller_manager(
    stand: Stand, controllers: Sequence[str], qps: int
) -> Iterator[subprocess.Popen[bytes]]:
    """These controllers alone, with their own limit of 20 requests a second or another."""
    (port,) = ports(1)
    command = [
        kubernetes("kube-controller-manager"),
        f"--kubeconfig={stand.kubeconfig('kube-controller-manager')}",
        f"--controllers={','.join(controllers)}",
        "--leader-elect=false",
        f"--secure-port={port}",
        f"--cert-dir={stand.folder / 'controller-manager'}",
    ]
    if qps:
        command += [f"--kube-api-qps={qps}", f"--kube-api-burst={qps}"]
    with stand.process("kube-controller-manager", command) as process:
        yield process


@contextmanager
def _served(stand: Stand, found: list[Json], port: int) -> Iterator[None]:
    """Put there what a program is deployed with; its webhooks go when it goes."""
    wanted = [it for it in found if it["kind"] in _KINDS]
    hooks = [it for it in wanted if it["kind"].endswith("WebhookConfiguration")]
    places = [hook["clientConfig"]["service"] for it in hooks for hook in it["webhooks"]]
    for place in places:
        place["port"] = port
    stand.apply(*(it for it in wanted if it not in hooks))
    stand.apply(*hooks, _here(places[0]["name"], places[0]["namespace"]))
    try:
        yield
    finally:
        for hook in hooks:
            stand.server.kubectl("delete", hook["kind"], hook["metadata"]["name"])


def _here(name: str, namespace: str) -> Json:
    """A service that is this machine."""
    metadata = {"name": name, "namespace": namespace}
    spec = {"type": "ExternalName", "externalName": "localhost"}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def _mount(stand: Stand, namespace: str, name: str, process: subprocess.Popen[bytes]) -> None:
    """Write a secret's files to where a kubelet would mount them, once they are there."""
    for old in CERTIFICATES.glob("*"):
        old.unlink()
    until(lambda: "tls.crt" in _secret(stand, namespace, name), name, process)
    CERTIFICATES.mkdir(parents=True, exist_ok=True)
    for file, data in _secret(stand, namespace, name).items():
        (CERTIFICATES / file).write_bytes(base64.b64decode(data))
    time.sleep(0.1)


def _secret(stand: Stand, namespace: str, name: str) -> dict[str, str]:
    shown = stand.server.kubectl("get", "secret", name, "-n", namespace, "-oyaml").stdout
    return (yaml.safe_load(shown) or {}).get("data") or {}
