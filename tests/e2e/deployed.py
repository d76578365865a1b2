"""The operator as it is deployed: found by its labels, killed, stopped and started by tests."""

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

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

    def remove(self, pod: str) -> None:
        """Take one pod away by force: what runs in its place has another name."""
        self.home.kubectl("delete", "pod", pod, "--grace-period=0", "--force")

    def kill(self, name: str = "") -> None:
        """Send SIGKILL to the process of a pod, and watch until another runs in its place.

        Args:
            name: the pod; the only one by default.
        """
        pods = self._pods()
        name = name or next(iter(pods))
        pod = pods[name]
        before = _restarts(pod)
        killer = jobs.a_killer(pod["spec"]["nodeName"], pod["metadata"]["uid"])
        place = self.home.cluster.namespace("default")
        place.kubectl("create", "-f", "-", stdin=json.dumps(killer))
        self.home.wait("pods", lambda pods: _restarts(pods[name]) > before)
        place.kubectl("delete", "pod", killer["metadata"]["name"], "--grace-period=1")

    def wait_until_ready(self, replicas: int = 1) -> None:
        """Watch it until it serves, and those that were there before are gone."""
        self.home.wait("deployments", lambda seen: _is_ready(seen[self.name], replicas))
        self.home.wait("pods", lambda pods: not any(map(self._leaves, pods.values())))

    def leader(self) -> str:
        """The pod that leads, by the Lease."""
        lease = self.home.objects("leases")[self.name]
        return str(lease["spec"].get("holderIdentity") or "").rpartition("_")[0]

    def led_since(self) -> datetime:
        """Since when the leader leads."""
        lease = self.home.objects("leases")[self.name]
        return datetime.fromisoformat(lease["spec"]["acquireTime"])

    def killed_at(self, pod: str) -> datetime:
        """When the process of a pod ended last, to the second."""
        (status,) = self._pods()[pod]["status"]["containerStatuses"]
        return datetime.fromisoformat(status["lastState"]["terminated"]["finishedAt"])

    def wait_for_leader(self, fits: Callable[[str], bool], seconds: float) -> None:
        """Wait until a pod that fits leads."""
        deadline = time.monotonic() + seconds
        while not fits(self.leader()):
            assert time.monotonic() < deadline, f"{self.leader()} leads still"
            time.sleep(0.2)

    def behind_the_service(self) -> list[str]:
        """The pods that reports go to."""
        slices = self.home.objects("endpointslices").values()
        return [
            endpoint["targetRef"]["name"]
            for it in slices
            if it["metadata"]["labels"]["kubernetes.io/service-name"] == f"{self.name}-rollcall"
            for endpoint in it.get("endpoints") or ()
            if endpoint["conditions"].get("ready")
        ]

    def wait_behind_the_service(self, fits: Callable[[list[str]], bool]) -> None:
        """Wait until reports go where it fits."""
        deadline = time.monotonic() + 30
        while not fits(self.behind_the_service()):
            assert time.monotonic() < deadline, f"{self.behind_the_service()} still"
            time.sleep(0.2)

    @contextmanager
    def replicas(self, count: int) -> Iterator[None]:
        """A time with so many operators."""
        before = self.home.objects("deployments")[self.name]["spec"]["replicas"]
        self._scale(count)
        self.wait_until_ready(count)
        try:
            yield
        finally:
            self._scale(before)
            self.wait_until_ready(before)

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

    def _leaves(self, pod: Manifest) -> bool:
        metadata = pod["metadata"]
        return self._is_mine(metadata["name"]) and "deletionTimestamp" in metadata

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


def _is_ready(deployment: Manifest, replicas: int) -> bool:
    status = deployment.get("status", {})
    current = status.get("observedGeneration") == deployment["metadata"]["generation"]
    ready = status.get("replicas", 0) == status.get("readyReplicas", 0) == replicas
    return current and ready and not status.get("unavailableReplicas")
