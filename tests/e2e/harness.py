"""What every test on a real cluster needs: kubectl, a namespace of its own, and waits.

A wait follows a watch, so it ends with the event that it waits for, and never sleeps.
"""

import json
import os
import re
import secrets
import shutil
import subprocess
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from localcluster import binaries, choose
from trainingjobs.model import labels

LIMIT = 300
"""Seconds that a wait may take: for a slow machine, as on others it ends much earlier."""

Manifest = dict[str, Any]
Objects = Mapping[str, Manifest]
"""Objects of one kind by name."""

_APIS = {
    "leases": "/apis/coordination.k8s.io/v1",
    "endpointslices": "/apis/discovery.k8s.io/v1",
    "trainingjobs": f"/apis/{labels.API_VERSION}",
    "deployments": "/apis/apps/v1",
    "pods": "/api/v1",
    "services": "/api/v1",
}


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster in which the operator runs."""

    program: str
    kubeconfig: Path

    def command(self, *args: str) -> list[str]:
        """The command line of kubectl."""
        return [self.program, f"--kubeconfig={self.kubeconfig}", *args]

    def kubectl(self, *args: str, stdin: str | None = None) -> str:
        """What kubectl prints; an AssertionError with its words when it fails."""
        done = subprocess.run(
            self.command(*args), input=stdin, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"kubectl {' '.join(args)}: {done.stderr or done.stdout}"
        return done.stdout

    def namespace(self, name: str) -> "Namespace":
        """One namespace of it, which need not be there yet."""
        return Namespace(self, name)

    def new_namespace(self, purpose: str) -> "Namespace":
        """A namespace that takes none but well-behaved pods, as in a cluster of many users."""
        stem = re.sub(r"[^a-z0-9]+", "-", purpose.lower())[:48].strip("-")
        made = self.namespace(f"{stem}-{secrets.token_hex(3)}")
        self.kubectl("create", "namespace", made.name)
        enforced = "pod-security.kubernetes.io/enforce=restricted"
        self.kubectl("label", "namespace", made.name, enforced)
        made.kubectl("wait", "--for=create", "serviceaccount/default", "--timeout=60s")
        return made


def find() -> Cluster:
    """The cluster of KUBECONFIG, else the local one.

    Raises:
        LookupError: when there is none.
    """
    named = os.environ.get("KUBECONFIG")
    kubeconfig = Path(named) if named else choose.standing().cluster().kubeconfig()
    if kubeconfig is None:
        raise LookupError("no cluster is up: run `make cluster deploy`, or set KUBECONFIG")
    program = shutil.which("kubectl") or str(binaries.ensure(["kubectl"]) / "kubectl")
    return Cluster(program, kubeconfig)


@dataclass(frozen=True, slots=True)
class Namespace:
    """One namespace, in which a test does as it likes."""

    cluster: Cluster
    name: str

    def kubectl(self, *args: str, stdin: str | None = None) -> str:
        """What kubectl prints, asked in this namespace."""
        return self.cluster.kubectl(f"--namespace={self.name}", *args, stdin=stdin)

    def apply(self, manifest: Manifest) -> None:
        """Create or change an object, as a user does."""
        self.kubectl("apply", "-f", "-", stdin=json.dumps(manifest))

    def patch(self, job: str, **spec: Any) -> None:
        """Change fields of a job's spec."""
        self.kubectl("patch", "trainingjob", job, "--type=merge", "-p", json.dumps({"spec": spec}))

    def objects(self, kind: str, job: str = "") -> dict[str, Manifest]:
        """The objects of a kind; those of one job, where it is named."""
        return _by_name(self._list(kind, _query(job)))

    def status(self, job: str) -> Manifest:
        """What a job says of itself now."""
        status: Manifest = self.objects("trainingjobs")[job].get("status", {})
        return status

    def ranks(self, job: str) -> dict[int, Manifest]:
        """A job's pods by their ranks."""
        pods = self.objects("pods", job).values()
        return {int(pod["metadata"]["labels"][labels.RANK]): pod for pod in pods}

    def wait(
        self,
        kind: str,
        fits: Callable[[Objects], bool],
        *,
        job: str = "",
        seconds: float = LIMIT,
    ) -> Objects:
        """Watch the objects of a kind until they fit; an AssertionError when they never do."""
        seen: Objects = {}
        for seen in self._states(kind, _query(job), time.monotonic() + seconds):
            if fits(seen):
                return seen
        told = {name: item.get("status") for name, item in seen.items()}
        raise AssertionError(f"not so after {seconds} s: {kind} {job} {json.dumps(told)}")

    def wait_for(
        self, job: str, fits: Callable[[Manifest], bool], *, seconds: float = LIMIT
    ) -> Manifest:
        """Watch a job until its status fits, and return it."""
        jobs = self.wait(
            "trainingjobs",
            lambda jobs: job in jobs and fits(jobs[job].get("status", {})),
            seconds=seconds,
        )
        status: Manifest = jobs[job]["status"]
        return status

    def wait_for_phase(self, job: str, *phases: str) -> Manifest:
        """Watch a job until its phase is one of these, and return its status."""
        return self.wait_for(job, lambda status: status.get("phase") in phases)

    def wait_for_end(self, job: str) -> Manifest:
        """Watch a job until it has succeeded or failed, and return its status."""
        return self.wait_for_phase(job, "Succeeded", "Failed")

    def wait_for_line(self, pod: str, text: str) -> None:
        """Follow the log of a pod, once it runs, until the text stands in it."""
        self.wait("pods", lambda pods: pod in pods and pods[pod]["status"]["phase"] != "Pending")
        command = self.cluster.command(f"--namespace={self.name}", "logs", "--follow", pod)
        found = any(text in line for line in lines(command))
        assert found, f"{pod} ended without a line with {text!r}"

    def told_at(self, pod: str, words: str) -> float:
        """The time that a pod has told behind these words, in seconds of the epoch."""
        self.wait_for_line(pod, words)
        told = re.search(rf"{words} ([\d.]+)", self.kubectl("logs", pod))
        assert told is not None
        return float(told[1])

    @contextmanager
    def forwarded(self, target: str, port: str) -> Iterator[str]:
        """An address of this machine that leads to a port of a pod or service, for so long.

        Args:
            target: as kubectl names it: `pod/mnist-master`, `service/operator`.
            port: its number, or its name at a service.
        """
        asked = (f"--namespace={self.name}", "port-forward", target, f":{port}")
        with closing(lines(self.cluster.command(*asked))) as said:
            found = (re.search(r"127\.0\.0\.1:\d+", line) for line in said)
            address = next(filter(None, found), None)
            assert address, f"no port of {target} was forwarded"
            yield address[0]

    def _states(self, kind: str, query: str, deadline: float) -> Iterator[Objects]:
        """The objects of a kind now, and after each change, until the deadline."""
        while (left := deadline - time.monotonic()) > 0:
            listed = self._list(kind, query)
            seen = _by_name(listed)
            yield seen
            since = f"&resourceVersion={listed['metadata']['resourceVersion']}"
            for event in self._events(kind, query + since, left):
                if event["type"] == "ERROR":
                    break
                _take(seen, event)
                yield seen

    def _list(self, kind: str, query: str) -> Manifest:
        listed: Manifest = json.loads(self.cluster.kubectl("get", "--raw", self.path(kind, query)))
        return listed

    def _events(self, kind: str, query: str, seconds: float) -> Iterator[Manifest]:
        limited = f"{query}&watch=true&timeoutSeconds={max(round(seconds), 1)}"
        command = self.cluster.command("get", "--raw", self.path(kind, limited))
        yield from map(json.loads, lines(command))

    def path(self, kind: str, query: str) -> str:
        """Where the API server has the objects of a kind."""
        return f"{_APIS[kind]}/namespaces/{self.name}/{kind}?{query}"


def lines(command: Sequence[str]) -> Generator[str]:
    """The lines that a program prints; it ends when nobody wants more of them."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield from process.stdout
        finally:
            process.kill()


def _by_name(listed: Manifest) -> dict[str, Manifest]:
    return {item["metadata"]["name"]: item for item in listed["items"]}


def _query(job: str) -> str:
    return f"labelSelector={labels.APP_INSTANCE}%3D{job}" if job else ""


def _take(seen: dict[str, Manifest], event: Manifest) -> None:
    item = event["object"]
    if event["type"] == "DELETED":
        seen.pop(item["metadata"]["name"], None)
    else:
        seen[item["metadata"]["name"]] = item
