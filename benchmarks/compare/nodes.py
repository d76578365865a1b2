"""A node whose kubelet is kwok, for scenarios in which pods run.

kwok brings pods to Running and takes deleted ones away. How they end is the benchmark's to say:
it writes the status that a kubelet would.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Final

import yaml

from benchmarks.compare import programs
from benchmarks.compare.client import Json, Request
from benchmarks.compare.kinds import IMAGE
from benchmarks.compare.stand import Stand, until
from benchmarks.compare.trial import Trial
from benchmarks.compare.view import Pod

NODE: Final = "kwok-0"
_STAGES: Final = (
    "node/fast/node-initialize",
    "pod/fast/pod-ready",
    "pod/fast/pod-delete",
)
_PARALLEL: Final = 16
"""Pods that kwok writes at the same time, instead of four."""


@contextmanager
def kubelet(stand: Stand) -> Iterator[None]:
    """A node whose pods run as soon as they are there."""
    stand.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}})
    folder = programs.source(programs.KWOK) / "kustomize" / "stage"
    stages = [yaml.safe_load((folder / f"{it}.yaml").read_text()) for it in _STAGES]
    options = {f"{it}PlayStageParallelism": _PARALLEL for it in ("pod", "node")}
    options["nodeLeaseParallelism"] = _PARALLEL
    settings = {"kind": "KwokConfiguration", "apiVersion": "config.kwok.x-k8s.io/v1alpha1"}
    config = stand.folder / "kwok.yaml"
    config.write_text(yaml.safe_dump_all([{**settings, "options": options}, *stages]))
    command = [str(programs.program(programs.KWOK)), "--manage-all-nodes", f"--config={config}"]
    access = f"--kubeconfig={stand.kubeconfig('kwok')}"
    with stand.process("kwok", [*command, access], {"HOME": str(stand.folder)}) as process:
        until(lambda: _ready(stand), "kwok", process)
        yield


def _ready(stand: Stand) -> bool:
    """Whether kwok has told of the node."""
    where = "jsonpath={.status.nodeInfo.kubeletVersion}"
    return "kwok" in stand.server.kubectl("get", "node", NODE, "-o", where).stdout


async def end(work: Trial, pods: Iterable[Pod], code: int = 0) -> None:
    """Have the containers of these pods exit."""
    await work.client.all([_ending(work, pod, code) for pod in pods])


def _ending(work: Trial, pod: Pod, code: int) -> Request:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    reason = "Error" if code else "Completed"
    ended = {"exitCode": code, "reason": reason, "startedAt": now, "finishedAt": now}
    container = {
        "name": work.system.kind.container,
        "image": IMAGE,
        "imageID": IMAGE,
        "ready": False,
        "restartCount": 0,
        "state": {"terminated": ended},
    }
    ready = {"type": "Ready", "status": "False", "reason": "PodCompleted"}
    status: Json = {
        "phase": "Failed" if code else "Succeeded",
        "conditions": [ready],
        "containerStatuses": [container],
    }
    path = f"/api/v1/namespaces/{work.namespace}/pods/{pod.name}/status"
    return "PATCH", path, {"status": status}
