"""A Kubernetes of plain processes, for a machine without a container engine.

Real components, real containers, no Docker: each part is a process of this
machine with a log of its own. Every start begins with an empty cluster; only the
images stay, since they are what is dear to make again.
"""

import dataclasses
import os
import pathlib
import time
from collections.abc import Sequence
from typing import Final

from localcluster import (
    api,
    binaries,
    cache,
    cleanup,
    errors,
    gang,
    nodeconfig,
    packages,
    places,
    processes,
    progress,
    runtime,
    starting,
    versions,
)

PROGRAMS: Final = (
    "pause",
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubelet",
    "kube-proxy",
    "kubectl",
    "containerd",
    "containerd-shim-runc-v2",
    "ctr",
    "coredns",
)
LIMITS: Final = "NetworkPolicy objects are accepted but not enforced, and hostPort is not served"


@dataclasses.dataclass(frozen=True, slots=True)
class Embedded:
    """The cluster of plain processes on this machine."""

    at: places.Places = places.MACHINE

    def up(self, nodes: int) -> pathlib.Path:
        """Bring it up, or see that it is up with at least so many nodes."""
        _need_root()
        packages.ensure()
        starter = processes.Starter(self.at, binaries.ensure(PROGRAMS))
        with cache.alone(self.at.state / "lock", "the local cluster"):
            began, gangs = time.monotonic(), gang.asked()
            if trouble := starting.trouble(self.at, nodes, gangs=gangs):
                progress.say(f"starting {nodes} node(s): {trouble}")
                starting.start(starter, nodes, gangs=gangs)
                _give(self.at.kubeconfig)
                progress.say(f"up after {progress.lasting(time.monotonic() - began)}")
            else:
                progress.say("already up and healthy")
        progress.say(f"note: {LIMITS}")
        return self.at.kubeconfig

    def down(self, *, purge: bool) -> None:
        """End every process and remove every trace but the images."""
        _need_root()
        with cache.alone(self.at.state / "lock", "the local cluster"):
            records = processes.read(self.at.records)
            last = [record for record in records if record.name.endswith(("etcd", "containerd"))]
            processes.stop([record for record in records if record not in last], patience=75)
            processes.stop(last, patience=10)
            cleanup.sweep(self.at)
            if purge:
                cleanup.purge(self.at)
        progress.say("the local cluster is down, its images are " + ("gone" if purge else "kept"))

    def status(self) -> str:
        """Its processes and nodes."""
        records = processes.read(self.at.records)
        if not records:
            return "embedded: down"
        found = [f"  {_state(record):8} {record.name} (process {record.pid})" for record in records]
        ready = {True: "Ready", False: "not ready"}
        seen = [f"  {name}: {ready[good]}" for name, good in api.Api(self.at.pki).nodes().items()]
        lines = [
            f"embedded: Kubernetes v{versions.KUBERNETES}, kubeconfig {self.at.kubeconfig}",
            "nodes:",
            *(seen or ["  none"]),
            f"processes (logs in {self.at.logs}):",
            *found,
            f"limits: {LIMITS}",
        ]
        return "\n".join(lines)

    def kubeconfig(self) -> pathlib.Path | None:
        """Its kubeconfig, as long as its API server runs."""
        records = processes.read(self.at.records)
        served = any(
            record.name == "kube-apiserver" and processes.alive(record) for record in records
        )
        return self.at.kubeconfig if served else None

    def load(self, archives: Sequence[pathlib.Path]) -> None:
        """Import image archives into every node."""
        programs = binaries.ensure(["ctr"])
        for node in self._running():
            runtime.load(programs, nodeconfig.Home(self.at, node), archives)
            progress.say(f"{node.name}: has {', '.join(path.name for path in archives)}")

    def _running(self) -> list[places.Node]:
        names = {record.name for record in processes.read(self.at.records)}
        return [node for node in places.nodes(2, self.at) if f"{node.name}-kubelet" in names]


def _state(record: processes.Record) -> str:
    return "running" if processes.alive(record) else "ended"


def _give(path: pathlib.Path) -> None:
    """Let the user who called sudo read the kubeconfig."""
    if owner := os.environ.get("SUDO_UID"):
        os.chown(path, int(owner), -1)


def _need_root() -> None:
    if os.geteuid() != 0:
        raise errors.ClusterError(
            "the embedded cluster needs root for namespaces, mounts and cgroups: run it with sudo, "
            "or install Docker and kind and use CLUSTER=kind"
        )
