"""Worlds for the page to show: the real service over jobs and reports that a test has made up."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from builders import a_body
from cluster.raw import owner, raw_pod
from handlers.pods import Scene, a_caller, a_scene
from trainingjobs.cluster.curves import Curves
from trainingjobs.cluster.store import Store
from trainingjobs.handlers.page.streams import Bounds
from trainingjobs.model.report import Report

MESSAGES = Path(__file__).parents[2] / "docs" / "messages.md"
HEADINGS = [it for it in MESSAGES.read_text().splitlines() if it.startswith("### ")]
REASONS = set(re.findall(r"\w+", "".join(HEADINGS)))
QUICK = Bounds(tick=0.2, life=3600)


def ago(seconds: float) -> str:
    """A time, as Kubernetes writes it."""
    return (datetime.now(UTC) - timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


class World:
    """A scene with jobs; `root` may see all of them, `jo` those of `lab`."""

    def __init__(self, scene: Scene, curves: Curves) -> None:
        self.scene, self.curves = scene, curves
        self._version = 1_000

    @property
    def url(self) -> str:
        """Where the page is."""
        return self.scene.url

    def job(
        self,
        name: str,
        *,
        namespace: str = "lab",
        ranks: int = 4,
        spec: dict[str, Any] | None = None,
        **status: Any,
    ) -> str:
        """Put a job there, or change it; its uid."""
        self._version += 1
        body = a_body(ranks, name=name, **(spec or {}))
        uid = f"uid-{namespace}-{name}"
        _check(status)
        body["metadata"] |= {
            "uid": uid,
            "namespace": namespace,
            "resourceVersion": str(self._version),
            "creationTimestamp": status.pop("created", ago(1_900)),
        }
        self.scene.store.put_job({**body, "status": {"attempt": 1, **status}})
        return uid

    def pods(self, name: str, ranks: int) -> None:
        """Put its pods there."""
        uid = f"uid-lab-{name}"
        for rank in range(ranks):
            pod = f"{name}-master" if rank == 0 else f"{name}-worker-{rank - 1}"
            metadata = {"name": pod, "ownerReferences": [owner(uid, name)]}
            metadata["labels"] = {
                "trainingjob.dev/job-uid": uid,
                "trainingjob.dev/rank": str(rank),
                "trainingjob.dev/attempt": "1",
            }
            running = {"name": "trainer", "state": {"running": {"startedAt": ago(1_800)}}}
            raw = raw_pod(
                rank,
                uid=f"{name}-{rank}",
                metadata=metadata,
                spec={"nodeName": f"node-{rank % 4}"},
                status={"phase": "Running", "containerStatuses": [running]},
            )
            self.scene.store.put({**raw, "kind": "Pod"})

    def writes(self, pod: str, text: str) -> None:
        """Let a pod write to its log."""
        logs, path = self.scene.authority.logs, f"/api/v1/namespaces/lab/pods/{pod}"
        logs[path] = f"{logs.get(path, '')}{text}"

    def happens(self, name: str, reason: str, message: str, uid: str = "", **others: Any) -> None:
        """An event of the job, or of a pod of it."""
        event = {
            "involvedObject": {"uid": uid or f"uid-lab-{name}"},
            "metadata": {},
            "type": "Normal",
            "reason": reason,
            "message": message,
            "lastTimestamp": ago(60),
            **others,
        }
        self.scene.authority.events.append(event)

    def says(self, name: str, rank: int, size: int, processes: int = 1, **said: Any) -> None:
        """Let a rank report."""
        told = {"version": 1, "process": f"p-{rank}", "rank": rank, "worldSize": size, **said}
        pod = rank // processes
        caller = a_caller(
            pod,
            key=("lab", name),
            job_uid=f"uid-lab-{name}",
            pod_uid=f"{name}-{pod}",
            size=size // processes,
            processes=processes,
        )
        self.scene.rolls.take(caller, Report.model_validate(told), 400)


def _check(status: dict[str, Any]) -> None:
    """No picture shows a reason that the operator does not give."""
    told = {it["reason"] for it in status.get("conditions", ())}
    told |= {it["reason"] for it in status.get("attempts", ())}
    assert {it for it in told if it.isalnum()} <= REASONS


@asynccontextmanager
async def a_world() -> AsyncIterator[World]:
    """An empty one."""
    curves = Curves()
    store = Store(lambda: datetime.now(UTC))
    async with a_scene(store, api_tokens=True, bounds=QUICK, curves=curves) as scene:
        scene.authority.users |= {
            name: {"username": name, "uid": name, "groups": [], "extra": {}}
            for name in ("root", "jo", "no")
        }
        may = scene.authority.may
        may |= {("root", "", None), ("jo", "lab", None)}
        scene.authority.subjectaccessreviews = (  # type: ignore[method-assign]
            lambda spec: {"allowed": _may(may, spec["user"], spec["resourceAttributes"])}
        )
        yield World(scene, curves)


def _may(may: set[tuple[str, str, str | None]], user: str, asked: dict[str, Any]) -> bool:
    """Who may list may get, as Kubernetes' own roles have it."""
    return (user, "", None) in may or (user, asked.get("namespace", ""), None) in may
