"""An independent watch of all jobs and what they own, straight at the API server."""

import asyncio
import json
from contextlib import suppress
from typing import TYPE_CHECKING

import aiohttp

from faults.laws import Seen
from faults.scene import GROUP, Scene, Stage
from trainingjobs.model import gang
from trainingjobs.model.gang import Gang

if TYPE_CHECKING:
    from collections.abc import Callable

_PATHS = {
    "TrainingJob": f"{GROUP}/trainingjobs",
    "Pod": "/api/v1/pods",
    "Service": "/api/v1/services",
}
_GROUPS = f"/apis/{Gang.VOLCANO}/{gang.PLURAL}"


class Eye:
    """Tells each scene what becomes of its job."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session
        self._scenes: dict[tuple[str, str], tuple[Scene, Callable[[Seen], None]]] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def open(self) -> None:
        """Begin to watch."""
        for kind, path in {**_PATHS, gang.KIND: _GROUPS}.items():
            async with self._session.get(path, params={"limit": "1"}) as answer:
                if answer.status == 404 and path == _GROUPS:
                    continue  # not every test needs a gang scheduler
                version = (await answer.json())["metadata"]["resourceVersion"]
            self._tasks.append(asyncio.create_task(self._watch(kind, path, version)))

    async def close(self) -> None:
        """Watch no more."""
        for task in self._tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    def follow(self, stage: Stage) -> None:
        """Tell this stage of its job."""
        self._scenes[stage.scene.namespace, stage.scene.name] = (stage.scene, stage.told)

    def leave(self, scene: Scene) -> None:
        """Tell it no more."""
        self._scenes.pop((scene.namespace, scene.name), None)

    async def _watch(self, kind: str, path: str, version: str) -> None:
        query = {"watch": "true", "allowWatchBookmarks": "true"}
        while True:
            where = {**query, "resourceVersion": version}
            async with self._session.get(path, params=where) as answer:
                async for line in answer.content:
                    event = json.loads(line)
                    assert event["type"] != "ERROR", event
                    version = event["object"]["metadata"]["resourceVersion"]
                    if event["type"] != "BOOKMARK":
                        self._tell(
                            Seen(
                                version=int(version),
                                kind=kind,
                                type=event["type"],
                                body=event["object"],
                            )
                        )

    def _tell(self, seen: Seen) -> None:
        metadata = seen.body["metadata"]
        job = metadata.get("labels", {}).get("app.kubernetes.io/instance", seen.name)
        found = self._scenes.get((metadata["namespace"], job))
        if found is not None:
            scene, told = found
            scene.tell(seen)
            told(seen)
