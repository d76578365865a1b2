"""One job as an independent watch sees it, and the hands of its user and of the kubelet.

There is no kubelet beside the private API server, so a pod that was bound to a node stays
`Terminating` until it is deleted without grace. The stage does that, a moment later, and so
plays nodes that are slow to let go.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import aiohttp

from faults.laws import FINAL, Body, Seen, place
from trainingjobs.model import gang, labels

SECONDS = 180.0
TRIES = 4
NODE = "node-a"
BEGAN, ENDED = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"
GROUP = f"/apis/{labels.GROUP}/{labels.VERSION}"


class Stuck(AssertionError):  # noqa: N818 - it reads as what it is
    """What was waited for did not come."""


class Over(Exception):  # noqa: N818 - an end is no error
    """The job has finished where the scenario went on."""


@dataclass(slots=True)
class Scene:
    """All that was told of one job."""

    namespace: str
    name: str
    story: list[Seen] = field(default_factory=list)
    pods: dict[str, Body] = field(default_factory=dict)
    job: Body = field(default_factory=dict)
    gone: bool = False
    groups: dict[str, Body] = field(default_factory=dict)
    """Pod groups by uid."""
    taken: set[str] = field(default_factory=set)
    patience: float = SECONDS
    """How long each step may take."""
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def tell(self, seen: Seen) -> None:
        """The watch tells of an event."""
        self.story.append(seen)
        if seen.kind == "Pod" and seen.type == "DELETED":
            self.pods.pop(seen.name, None)
        elif seen.kind == "Pod":
            self.pods[seen.name] = seen.body
        elif seen.kind == gang.KIND and seen.type == "DELETED":
            self.groups.pop(seen.uid, None)
        elif seen.kind == gang.KIND:
            self.groups[seen.uid] = seen.body
        elif seen.kind == labels.KIND:
            self.job = seen.body
            self.gone = seen.type == "DELETED"
        self._news.set()
        self._news = asyncio.Event()

    @property
    def status(self) -> Body:
        """The job's status."""
        return self.job.get("status") or {}

    @property
    def finished(self) -> bool:
        """True once the job has ended."""
        return self.status.get("phase") in FINAL

    def group(self, attempt: int) -> dict[int, Body]:
        """The pods of an attempt by rank, without those that are told to go."""
        kept = [it for it in self.pods.values() if "deletionTimestamp" not in it["metadata"]]
        return {place(pod)[1]: pod for pod in kept if place(pod)[0] == attempt}

    async def until(self, what: str, holds: Callable[[], bool], seconds: float = 0) -> None:
        """Wait until it holds, for so long or with all patience.

        Raises:
            Stuck: when it does not in time.
        """
        try:
            async with asyncio.timeout(seconds or self.patience):
                while not holds():
                    await self._news.wait()
        except TimeoutError:
            raise Stuck(f"waited in vain: {what}; {self.summary()}") from None

    async def quiet(self, seconds: float) -> None:
        """Wait until nothing happens for so long.

        Raises:
            Stuck: when there is no end of it.
        """
        began = time.monotonic()
        with suppress(TimeoutError):
            while time.monotonic() - began < self.patience:
                async with asyncio.timeout(seconds):
                    await self._news.wait()
            raise Stuck(f"it does not come to rest; {self.summary()}")

    def summary(self) -> str:
        """Where the job stands, for people."""
        pods = {name: (*place(pod), pod["status"].get("phase")) for name, pod in self.pods.items()}
        keys = ("phase", "message", "attempt", "restarts", "disruptions", "instances")
        return f"status { ({key: self.status.get(key) for key in keys}) }, pods {pods}"


class Stage:
    """Plays a job's user and its nodes."""

    def __init__(self, session: aiohttp.ClientSession, scene: Scene, spec: Body) -> None:
        self.scene = scene
        self.spec = spec
        self.linger = 0.1
        """How long a node takes to end a pod."""
        self._session = session
        self._tasks: dict[str, asyncio.Task[None]] = {}

    @property
    def size(self) -> int:
        """How many instances the job has."""
        return int(self.spec["PARALLEL_INSTANCES"])

    def told(self, seen: Seen) -> None:
        """The scene has changed: end what was told to go."""
        metadata = seen.body["metadata"]
        bound = seen.kind == "Pod" and "nodeName" in seen.body["spec"]
        if bound and "deletionTimestamp" in metadata and seen.uid not in self._tasks:
            self._tasks[seen.uid] = asyncio.create_task(self._end_slowly(seen.body))

    async def apply(self) -> None:
        """The user creates the job."""
        body = {
            "apiVersion": labels.API_VERSION,
            "kind": labels.KIND,
            "metadata": {"name": self.scene.name},
            "spec": self.spec,
        }
        await self.request("POST", f"{GROUP}{self._where}/{labels.PLURAL}", body)
        await self.scene.until("the job to be told of", lambda: bool(self.scene.job))

    async def change(self, **spec: Any) -> None:
        """The user changes the job's spec."""
        self.spec = {**self.spec, **spec}
        await self.request("PATCH", self._job, {"spec": spec})

    async def until(self, what: str, holds: Callable[[], bool]) -> None:
        """Wait for a step of the scenario.

        Raises:
            Over: when the job has finished instead.
        """
        await self.scene.until(what, lambda: holds() or self.scene.finished)
        if not holds():
            raise Over

    async def made(self, attempt: int, size: int = 0) -> None:
        """A whole group is made, of as many as are asked for where nothing else is said."""
        scene, count = self.scene, size or self.size
        await self.until(
            f"all pods of attempt {attempt}",
            lambda: len(scene.group(attempt)) == count and scene.status.get("attempt") == attempt,
        )

    async def bind(self, attempt: int, rank: int) -> None:
        """The scheduler finds room for one."""
        await self._bind(self.scene.group(attempt)[rank])

    async def up(self, attempt: int, size: int = 0) -> None:
        """A whole group is made, gets its nodes and runs."""
        scene = self.scene
        await self.made(attempt, size)
        await asyncio.gather(*(self._bind(pod) for pod in scene.group(attempt).values()))
        await self.until("phase Starting", lambda: scene.status["phase"] == "Starting")
        running = {"running": {"startedAt": BEGAN}}
        await asyncio.gather(
            *(self.say(pod, running, "Running") for pod in scene.group(attempt).values())
        )
        await self.until("phase Running", lambda: scene.status["phase"] == "Running")

    async def end(self, attempt: int, *ranks: int, code: int = 0) -> None:
        """Training containers end."""
        for rank in ranks:
            await self._end(self.scene.group(attempt)[rank], code)

    async def delete(self, attempt: int, rank: int) -> None:
        """The user deletes a pod."""
        pod = self.scene.group(attempt)[rank]
        self.scene.taken.add(pod["metadata"]["uid"])
        await self.request("DELETE", self._pod(pod))

    async def evict(self, attempt: int, rank: int) -> None:
        """Somebody drains the node."""
        pod = self.scene.group(attempt)[rank]
        self.scene.taken.add(pod["metadata"]["uid"])
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod["metadata"]["name"]},
        }
        await self.request("POST", f"{self._pod(pod)}/eviction", body)

    async def starve(self, attempt: int, rank: int) -> None:
        """The node runs out of memory, and the kubelet puts the pod out."""
        pod = self.scene.group(attempt)[rank]
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "TerminationByKubelet",
            "message": "The node was low on resource: memory.",
        }
        ended = {"exitCode": 137, "reason": "Error", "startedAt": BEGAN, "finishedAt": ENDED}
        more = {"reason": "Evicted", "conditions": [condition]}
        await self.say(pod, {"running": None, "terminated": ended}, "Failed", **more)

    async def say(self, pod: Body, state: Body, phase: str, **more: Any) -> None:
        """The kubelet tells of a pod."""
        container = {
            "name": "trainer",
            "image": "i",
            "imageID": "",
            "ready": phase == "Running",
            "restartCount": 0,
            "state": state,
        }
        status = {"phase": phase, "containerStatuses": [container], **more}
        await self.request("PATCH", f"{self._pod(pod)}/status", {"status": status})

    async def clear(self) -> None:
        """Take away all that the job left, as garbage collection would."""
        for task in self._tasks.values():
            task.cancel()
        await self.request("DELETE", self._job)
        now = {"gracePeriodSeconds": 0}
        selector = f"?labelSelector={labels.APP_INSTANCE}={self.scene.name}"
        await self.request("DELETE", f"/api/v1{self._where}/pods{selector}", now)
        for plural in ("services", "configmaps"):
            await self.request("DELETE", f"/api/v1{self._where}/{plural}{selector}", now)
        for group in self.scene.groups.values():
            path = f"/apis/{group['apiVersion']}{self._where}/{gang.PLURAL}"
            await self.request("DELETE", f"{path}/{group['metadata']['name']}")

    async def request(self, method: str, path: str, body: Body | None = None) -> Body:
        """Ask the API server as an administrator; what is gone or has changed is no matter."""
        headers = {"Content-Type": "application/merge-patch+json"} if method == "PATCH" else {}
        for left in reversed(range(TRIES)):
            async with self._session.request(method, path, json=body, headers=headers) as answer:
                if answer.status < 400 or answer.status in {404, 409}:
                    told: Body = await answer.json()
                    return told
                # a server that is out of breath is no finding
                if answer.status < 500 or not left:
                    raise AssertionError(f"{method} {path}: {answer.status} {await answer.text()}")
            await asyncio.sleep(1)
        raise AssertionError  # the last try returns or raises

    @property
    def _where(self) -> str:
        return f"/namespaces/{self.scene.namespace}"

    @property
    def _job(self) -> str:
        return f"{GROUP}{self._where}/{labels.PLURAL}/{self.scene.name}"

    def _pod(self, pod: Body) -> str:
        return f"/api/v1{self._where}/pods/{pod['metadata']['name']}"

    def _bind(self, pod: Body) -> Coroutine[Any, Any, Body]:
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod["metadata"]["name"]},
            "target": {"apiVersion": "v1", "kind": "Node", "name": NODE},
        }
        return self.request("POST", f"{self._pod(pod)}/binding", binding)

    async def _end(self, pod: Body, code: int, time: str = ENDED) -> None:
        ended = {
            "exitCode": code,
            "reason": "Error" if code else "Completed",
            "startedAt": BEGAN,
            "finishedAt": time,
        }
        # a merge patch keeps what it does not name
        await self.say(
            pod, {"running": None, "terminated": ended}, "Failed" if code else "Succeeded"
        )

    async def _end_slowly(self, pod: Body) -> None:
        await asyncio.sleep(self.linger)
        if pod["status"].get("phase") == "Running":
            # whoever did not see it being told to go knows by the times that it was
            await self._end(pod, 143, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
        only = {"gracePeriodSeconds": 0, "preconditions": {"uid": pod["metadata"]["uid"]}}
        await self.request("DELETE", self._pod(pod), only)
