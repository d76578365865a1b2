"""The operator as it is deployed: found by its labels, killed, stopped and started by tests."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from e2e import jobs
from e2e.harness import Cluster, Manifest, Namespace, Objects

SELECTOR = "app.kubernetes.io/name=trainingjob-operator,app.kubernetes.io/component=operator"


@dataclass(frozen=True, slots=True)
class Operator:
    """The operator's deployment."""

    home: Namespace
    name: str

    def replace(self) -> None:
        """Take its pod away by force: its successor starts while it may still be about."""
        self.home.kubectl("delete", "pod", f"-l{SELECTOR}", "--grace-period=0", "--force")

    def kill(self) -> None:
        """Send SIGKILL to its process, and watch until another runs in its place."""
        ((name, pod),) = self._pods().items()
        before = _restarts(pod)
        killer = jobs.a_killer(pod["spec"]["nodeName"], pod["metadata"]["uid"])
        place = self.home.cluster.namespace("default")
        place.kubectl("create", "-f", "-", stdin=json.dumps(killer))
        self.home.wait("pods", lambda pods: _restarts(pods[name]) > before)
        place.kubectl("delete", "pod", killer["metadata"]["name"], "--grace-period=1")

    def wait_until_ready(self) -> None:
        """Watch it until it serves."""
        self.home.wait("deployments", lambda seen: _is_ready(seen[self.name]))

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """A time without any operator."""
        self._scale(0)
        self.home.wait("pods", lambda pods: not any(map(self._is_mine, pods)))
        try:
            yield
        finally:
            self._scale(1)
            self.wait_until_ready()

    def _scale(self, replicas: int) -> None:
        self.home.kubectl("scale", "deployment", self.name, f"--replicas={replicas}")

    def _pods(self) -> Objects:
        return {n: pod for n, pod in self.home.objects("pods").items() if self._is_mine(n)}

    def _is_mine(self, pod: str) -> bool:
        return pod.startswith(f"{self.name}-")


def find(cluster: Cluster) -> Operator:
    """The operator of a cluster.

    Raises:
        LookupError: when there is none, or more than one.
    """
    answer = cluster.kubectl("get", "deployments", "-A", f"-l{SELECTOR}", "-o", "json")
    found: list[Manifest] = json.loads(answer)["items"]
    if len(found) != 1:
        raise LookupError(f"{len(found)} operators are deployed: run `make deploy`")
    metadata = found[0]["metadata"]
    return Operator(cluster.namespace(metadata["namespace"]), metadata["name"])


def diagnosis(namespace: Namespace, operator: Operator) -> str:
    """All that a reader wants to know about a test that failed."""
    questions = (
        ("get", "trainingjobs,pods,services", "-o", "wide"),
        ("get", "trainingjobs", "-o", "yaml"),
        ("describe", "pods"),
        ("get", "events", "--sort-by=.metadata.creationTimestamp"),
    )
    told = [_answer(namespace, *question) for question in questions]
    pods = namespace.objects("pods")
    said = [_answer(namespace, "logs", pod, "--all-containers", "--tail=100") for pod in pods]
    return "\n".join([*told, *said, *_of(operator)])


def _of(operator: Operator) -> list[str]:
    """What the operator says, and what it said before it was last started anew."""
    logs = ("logs", f"-l{SELECTOR}", "--tail=200")
    events = ("get", "events", "--sort-by=.metadata.creationTimestamp")
    return [_answer(operator.home, *it) for it in (logs, (*logs, "--previous"), events)]


def _answer(namespace: Namespace, *args: str) -> str:
    command = namespace.cluster.command(f"--namespace={namespace.name}", *args)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return f"$ kubectl {' '.join(args)}\n{done.stdout}{done.stderr}"


def _restarts(pod: Manifest) -> int:
    statuses = pod["status"].get("containerStatuses", [])
    return sum(item["restartCount"] for item in statuses)


def _is_ready(deployment: Manifest) -> bool:
    status = deployment.get("status", {})
    current = status.get("observedGeneration") == deployment["metadata"]["generation"]
    return current and status.get("readyReplicas", 0) == 1 and not status.get("unavailableReplicas")
