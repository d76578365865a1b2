"""Where specs are tried out: many jobs in one namespace, their pods never scheduled."""

import asyncio
import json
import re
import ssl
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Any, TypeVar

import aiohttp

from faults.changes import BASE, Change
from faults.eye import Eye
from faults.laws import Body
from faults.scene import GROUP, Scene, Stage, Stuck
from integration.server import ApiServer
from trainingjobs.model import labels

Item = TypeVar("Item")

AT_ONCE = 8
SETTLED_SECONDS = 2.6
"""Longer than numbers alone may wait to be written."""
_SECONDS = 60.0
_ENDED = {"Failed", "Succeeded", "Suspended"}
_VARYING = {
    "creationTimestamp",
    "resourceVersion",
    "generation",
    "managedFields",
    "clusterIP",
    "clusterIPs",
    labels.ATTEMPT,
}
_VARYING_ENV = {"TRAININGJOB_ATTEMPT", "PET_RDZV_ID"}
_TOLD = ("phase", "message", "ready", "replicas", "instances", "masterAddress")


class Bench:
    """Tries out one change after the other, some at once."""

    def __init__(self, session: aiohttp.ClientSession, eye: Eye, namespace: str) -> None:
        self._session = session
        self._eye = eye
        self._namespace = namespace
        self._number = 0

    async def there_and_back(self, change: Change) -> list[str]:
        """A job that is turned into another is as if it had always been that one."""
        stage, other = await asyncio.gather(self._fresh(BASE), self._fresh(change.spec()))
        first, wanted = await self._snapshot(stage), await self._snapshot(other)
        problems = says_why(other.scene)
        await self._turn(stage, change.path[0], change.value)
        problems += _unlike("turned", wanted, await self._snapshot(stage))
        if not stage.scene.finished:
            await self._turn(stage, change.path[0], BASE.get(change.path[0]))
            problems += _unlike("turned back", first, await self._snapshot(stage))
        await self._leave(stage, other)
        return problems

    async def odd(self, change: Change) -> list[str]:
        """What is accepted comes to something, or the status says why not."""
        try:
            stage = await self._fresh(change.spec())
        except Refused as refusal:
            return [] if change.named in str(refusal) else [f"refused without a name: {refusal}"]
        problems = says_why(stage.scene)
        await self._leave(stage)
        return problems

    async def _fresh(self, spec: Body) -> Stage:
        self._number += 1
        scene = Scene(self._namespace, f"f{self._number:05}")
        stage = Stage(self._session, scene, spec)
        self._eye.follow(stage)
        body = {
            "apiVersion": labels.API_VERSION,
            "kind": labels.KIND,
            "metadata": {"name": scene.name},
            "spec": spec,
        }
        jobs = f"{GROUP}/namespaces/{self._namespace}/{labels.PLURAL}"
        async with self._session.post(jobs, json=body) as answer:
            if answer.status >= 400:
                raise Refused((await answer.json())["message"])
        await _settle(scene)
        return stage

    async def _turn(self, stage: Stage, field: str, value: Any) -> None:
        """Change a field, while the job runs where that is allowed, else while it is suspended."""
        if not await self._change(stage, field, value):
            assert await self._change(stage, "suspend", True)
            await stage.scene.until("no pods", lambda: not stage.scene.pods)
            assert await self._change(stage, field, value)
            assert await self._change(stage, "suspend", False)
        await _settle(stage.scene)

    async def _change(self, stage: Stage, field: str, value: Any) -> bool:
        change = {"op": "add", "path": f"/spec/{field}", "value": value}
        if value is None:
            change = {"op": "remove", "path": f"/spec/{field}"}
        url = f"{GROUP}/namespaces/{self._namespace}/{labels.PLURAL}/{stage.scene.name}"
        kind = {"Content-Type": "application/json-patch+json"}
        async with self._session.patch(url, data=json.dumps([change]), headers=kind) as answer:
            body = await answer.json()
        if answer.status >= 400:
            return False
        stage.spec = body["spec"]
        # until the watch has told of it, the scene is at rest about something else
        version = int(body["metadata"]["generation"])
        await stage.scene.until(
            "the change", lambda: stage.scene.job["metadata"]["generation"] >= version
        )
        return True

    async def _snapshot(self, stage: Stage) -> dict[str, Any]:
        """All that should not depend on how the job came to its spec."""
        scene = stage.scene
        where = f"/api/v1/namespaces/{self._namespace}/services/{scene.name}"
        service = await stage.request("GET", where)
        told = scene.status.get("conditions", ())
        found = {
            **{key: scene.status.get(key) for key in _TOLD},
            "conditions": {it["type"]: (it["status"], it["reason"]) for it in told},
            "ports": (service.get("spec") or {}).get("ports"),
            "pods": [
                {"metadata": pod["metadata"], "spec": pod["spec"]}
                for _, pod in sorted(scene.pods.items())
            ],
        }
        return _common(found, scene)

    async def _leave(self, *stages: Stage) -> None:
        for stage in stages:
            self._eye.leave(stage.scene)
            await stage.clear()


class Refused(Exception):  # noqa: N818 - an answer, not an error
    """The API server did not take the job."""


def says_why(scene: Scene) -> list[str]:
    """Nothing, where the job has what it wants or says why not."""
    facts = {it["type"]: it for it in scene.status.get("conditions", ())}
    created = facts.get("PodsCreated", {}).get("status") == "True"
    if scene.status.get("phase") in _ENDED:
        created = False
    elif created:
        return []
    said = facts.get("Failed" if scene.finished else "Running", {}).get("message")
    return [] if said or scene.status.get("message") else [f"says nothing: {scene.summary()}"]


async def all_of(
    items: Iterable[Item], work: Callable[[Item], Awaitable[list[str]]]
) -> dict[Item, list[str]]:
    """What the work says of each item, some at once."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(item: Item) -> tuple[Item, list[str]]:
        async with gate:
            try:
                return item, await work(item)
            except (Stuck, Refused, AssertionError) as error:
                return item, [f"{type(error).__name__}: {error}"]

    return dict(await asyncio.gather(*(one(item) for item in items)))


async def on_bench(
    server: ApiServer, namespace: str, work: Callable[[Bench], Awaitable[dict[Item, list[str]]]]
) -> dict[Item, list[str]]:
    """What the work says on a bench in this namespace."""
    tls = ssl.create_default_context(cafile=str(server.ca))
    async with aiohttp.ClientSession(
        server.url,
        headers={"Authorization": f"Bearer {server.token}"},
        connector=aiohttp.TCPConnector(limit=0, ssl=tls),
        timeout=aiohttp.ClientTimeout(total=None),
        read_bufsize=2**20,
    ) as session:
        eye = Eye(session)
        await eye.open()
        try:
            return await work(Bench(session, eye, namespace))
        finally:
            await eye.close()


async def _settle(scene: Scene) -> None:
    """The operator has seen the spec, has said something of it, and does no more."""

    def seen() -> bool:
        generation = scene.job.get("metadata", {}).get("generation")
        return generation is not None and scene.status.get("observedGeneration") == generation

    await scene.until("the operator to see the spec", seen, _SECONDS)
    with suppress(Stuck):
        await scene.until("pods, or a reason", lambda: not says_why(scene), _SECONDS / 4)
    await scene.quiet(SETTLED_SECONDS)


def _unlike(when: str, wanted: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """Where they differ; a service or a condition of an earlier spec may stay."""
    if wanted["ports"] is None:
        found = {**found, "ports": None}
    if "PodsCreated" not in wanted["conditions"]:
        found = {**found, "conditions": {**found["conditions"]}}
        found["conditions"].pop("PodsCreated", None)
    return [
        f"{when}, {key} is {found[key]!r}, of a fresh job {it!r}"
        for key, it in wanted.items()
        if found[key] != it
    ]


def _common(value: Any, scene: Scene) -> Any:
    """The value without names, identities and times."""
    if isinstance(value, dict):
        return {key: _common(it, scene) for key, it in value.items() if key not in _VARYING}
    if isinstance(value, list | tuple):
        kept = [it for it in value if not (isinstance(it, dict) and it.get("name") in _VARYING_ENV)]
        return [_common(it, scene) for it in kept]
    if isinstance(value, str):
        named = value.replace(scene.name, "JOB")
        return re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "UID", named)
    return value
