"""Pods that speak to the roll call's service over real connections, and an API server's word."""

import base64
import json
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import aiohttp
import prometheus_client

from builders import UID, a_body
from cluster.raw import Raw, owner, raw_pod
from trainingjobs.cluster.callers import Caller
from trainingjobs.cluster.errors import ApiError
from trainingjobs.cluster.rolls import Rolls
from trainingjobs.cluster.store import Key, Store
from trainingjobs.handlers.doors import Limits
from trainingjobs.handlers.rollcall import Parts, RollCall

AUDIENCE = "trainingjob.dev/reports"
HOST = "127.0.0.1"
FAST = Limits(penalty=0, seconds=120, body_seconds=60)
"""Nobody is sent away because the machine that runs the tests is slow."""
OTHER = "6f6c1f0e-0000-4000-8000-00000000000f"


def part(value: Raw) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def a_token(pod: str = "pod-0", *, name: str = "mnist-0", **claims: Any) -> str:
    """What a kubelet would put into the pod; nobody has signed it."""
    said = {
        "aud": [AUDIENCE],
        "exp": int(time.time()) + 3600,
        "sub": "system:serviceaccount:lab:default",
        "kubernetes.io": {"namespace": "lab", "pod": {"name": name, "uid": pod}},
        **claims,
    }
    return f"{part({'alg': 'ES256'})}.{part(said)}.c2lnbmVk"


def a_report(**changes: Any) -> Raw:
    """A process that has just started."""
    return {"version": 1, "process": "p-0", "rank": 0, "stage": "spawned", **changes}


def a_caller(instance: int = 0, **changes: Any) -> Caller:
    """A pod of the job's only attempt."""
    told = {
        "key": ("lab", "mnist"),
        "job_uid": UID,
        "pod_uid": f"pod-{instance}",
        "attempt": 1,
        "instance": instance,
        "processes": 1,
        "size": 3,
    }
    return Caller(**{**told, **changes})


@dataclass
class Authority:
    """An API server that takes tokens which are not revoked, and lets some users get jobs."""

    calls: list[tuple[str, Raw]] = field(default_factory=list)
    revoked: set[str] = field(default_factory=set)
    users: dict[str, Raw] = field(default_factory=dict)
    """Tokens of people."""
    may: set[tuple[str, str, str | None]] = field(default_factory=set)
    down: bool = False
    logs: dict[str, str | ApiError] = field(default_factory=dict)
    """By the path of the pod."""
    events: list[Raw] = field(default_factory=list)
    read: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)
    """The logs and events that were asked for."""

    async def text(self, path: str, query: Mapping[str, str]) -> str:
        """A pod's log."""
        self.read.append((path, query))
        found = self.logs.get(path.removesuffix("/log"), ApiError(404, "NotFound", "no such pod"))
        if isinstance(found, ApiError):
            raise found
        last = "".join(found.splitlines(keepends=True)[-int(query["tailLines"]) :])
        return last[: int(query["limitBytes"])]

    async def pages(self, path: str, query: Mapping[str, str]) -> AsyncIterator[Raw]:
        """Events, twenty on a page."""
        self.read.append((path, query))
        uid = query["fieldSelector"].removeprefix("involvedObject.uid=")
        found = [it for it in self.events if it["involvedObject"]["uid"] == uid]
        for at in range(0, len(found), 20):
            yield {"metadata": {}, "items": found[at : at + 20]}

    async def request(self, method: str, path: str, *, body: Raw) -> Raw:
        """The answer to a review."""
        assert method == "POST"
        kind = path.rpartition("/")[2]
        self.calls.append((kind, body["spec"]))
        if self.down:
            raise ApiError(0, "Unreachable", "no route to host")
        return {"status": getattr(self, kind)(body["spec"])}

    def tokenreviews(self, spec: Raw) -> Raw:
        """Whose token it is."""
        token, wanted = spec["token"], spec.get("audiences")
        if token in self.users and not wanted:
            return {"authenticated": True, "user": self.users[token], "audiences": ["api"]}
        if token in self.revoked or token.count(".") != 2 or not wanted:
            return {"authenticated": False, "error": "invalid bearer token"}
        payload = token.split(".")[1]
        said = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        pod, prefix = said["kubernetes.io"]["pod"], "authentication.kubernetes.io"
        extra = {f"{prefix}/pod-name": [pod["name"]], f"{prefix}/pod-uid": [pod["uid"]]}
        user = {"username": said["sub"], "uid": "1", "groups": ["g"], "extra": extra}
        meant = [it for it in wanted if it in said["aud"]]
        return {"authenticated": bool(meant), "user": user, "audiences": meant}

    def subjectaccessreviews(self, spec: Raw) -> Raw:
        """What a user may."""
        asked = spec["resourceAttributes"]
        what = "/".join(it for it in (asked["resource"], asked.get("subresource")) if it)
        named = asked.get("name") if what == "trainingjobs" else what
        return {"allowed": (spec["user"], asked.get("namespace", ""), named) in self.may}

    def asked(self, kind: str = "tokenreviews") -> int:
        """How often it was asked."""
        return sum(it == kind for it, _ in self.calls)


@dataclass(kw_only=True)
class Scene:
    """A running service and what is around it."""

    url: str
    http: aiohttp.ClientSession
    authority: Authority
    store: Store
    rolls: Rolls
    service: RollCall
    registry: prometheus_client.CollectorRegistry
    woken: list[Key] = field(default_factory=list)
    ready: bool = True

    async def report(
        self, report: Any = None, *, token: str | None = None, **options: Any
    ) -> tuple[int, Raw]:
        """Send a report; the answer's code and body."""
        status, body, _ = await self.call(report, token=token, **options)
        return status, body

    async def call(
        self, report: Any = None, *, token: str | None = None, **options: Any
    ) -> tuple[int, Raw, Any]:
        """Send a report; the answer's code, body and headers."""
        headers = {"Authorization": f"Bearer {token or a_token()}"}
        headers |= options.pop("headers", {})
        if "data" not in options:
            options["json"] = a_report() if report is None else report
        else:
            headers.setdefault("Content-Type", "application/json")
        at = f"{self.url}/api/v1/reports"
        async with self.http.post(at, headers=headers, **options) as answer:
            return answer.status, await answer.json(), answer.headers

    async def get(self, path: str, token: str | None = None) -> tuple[int, Raw]:
        """Ask for something."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        async with self.http.get(f"{self.url}{path}", headers=headers) as answer:
            return answer.status, await answer.json()


def a_store(instances: int = 3, **spec: Any) -> Store:
    """A store with one job and its pods, and another job's pod."""
    store = Store(now)
    store.put_job(a_body(instances, **spec))
    for rank in range(instances):
        store.put({**raw_pod(rank), "kind": "Pod"})
    other = a_body(1, name="other")
    other["metadata"] |= {"uid": OTHER}
    store.put_job(other)
    theirs = {"ownerReferences": [owner(OTHER, "other")], "name": "other-0"}
    store.put({**raw_pod(0, uid="pod-other", metadata=theirs), "kind": "Pod"})
    return store


def now() -> Any:
    """The time of day."""
    return datetime.now(UTC)


@asynccontextmanager
async def a_scene(
    store: Store | None = None, limits: Limits = FAST, rate: float = 200.0, **options: Any
) -> AsyncIterator[Scene]:
    """A service on a port of its own."""
    authority, there, registry = (
        Authority(),
        store or a_store(),
        prometheus_client.CollectorRegistry(),
    )
    woken: list[Key] = []
    rolls = Rolls(now, rate)
    about: dict[str, Scene] = {}
    parts = Parts(
        api=authority,  # type: ignore[arg-type]
        store=there,
        rolls=rolls,
        registry=registry,
        wake=woken.append,
        ready=lambda _: about["scene"].ready,
        rate=rate,
        limits=limits,
        **options,
    )
    service = RollCall(parts)
    port = await service.start(0, HOST)
    async with aiohttp.ClientSession() as http:
        scene = about["scene"] = Scene(
            url=f"http://{HOST}:{port}",
            http=http,
            authority=authority,
            store=there,
            rolls=rolls,
            service=service,
            registry=registry,
            woken=woken,
        )
        try:
            yield scene
        finally:
            await service.stop()


def roll(scene: Scene) -> tuple[Any, ...]:
    """What is remembered of the job."""
    return scene.rolls.of(UID, 1).entries
