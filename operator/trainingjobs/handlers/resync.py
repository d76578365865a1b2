"""Lists everything from time to time: what a watch lost is found, and a deaf one is noticed.

Jobs are few and are listed every minute; their pods are many and are swept less often.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from trainingjobs.cluster import paths, rounds
from trainingjobs.cluster.api import Api
from trainingjobs.cluster.errors import ApiError
from trainingjobs.cluster.observe import Sweep
from trainingjobs.cluster.shelf import version_of
from trainingjobs.cluster.store import Key, Store
from trainingjobs.handlers.health import Ear, Health
from trainingjobs.model import labels

SECONDS = 60.0
SECOND_LOOK_SECONDS = 30.0
LAPSE_SECONDS = 1.0
"""How long watches that lapse together are waited for."""
_RETRY_SECONDS = 5.0
_JOBS = "lists of jobs"
_CHILDREN = "sweeps over pods and services"
_IDENTITY = ("namespace", "uid", "resourceVersion")
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resync:
    """Brings the store up to date with what the API server lists."""

    api: Api
    store: Store
    ear: Ear
    health: Health
    wake: Callable[[Key], None]
    namespaces: tuple[str, ...]
    sweep: Sweep
    sweep_seconds: float
    _jobs_lapsed: asyncio.Event = field(default_factory=asyncio.Event)
    _children_lapsed: asyncio.Event = field(default_factory=asyncio.Event)

    def lapsed(self, plural: str) -> None:
        """A watch has begun anew, and has not told what vanished meanwhile: list soon."""
        (self._jobs_lapsed if plural == labels.PLURAL else self._children_lapsed).set()

    async def begin(self) -> None:
        """Fill the store, however long the API server takes to let us."""
        while not self.health.ready:
            self.health.ready = await _try(self.once) and await _try(self.sweep.once)
            await asyncio.sleep(0 if self.health.ready else _RETRY_SECONDS)
        self.health.rounds.expect(_JOBS, SECONDS)
        self.health.rounds.expect(_CHILDREN, self.sweep_seconds)

    async def list_jobs(self) -> None:
        """List the jobs again and again, until cancelled.

        Looks at jobs that failed while no list could be made have their own, longer pauses: the
        first list that can be made again ends them.
        """
        pause = SECONDS
        while True:
            await _rest(pause, self._jobs_lapsed)
            listed = await self._done(_JOBS, self.once)
            if listed and pause == _RETRY_SECONDS:
                self._wake_all()
            pause = SECONDS if listed else _RETRY_SECONDS

    async def sweep_children(self) -> None:
        """Sweep soon, for what vanished before the watches began, and then again and again."""
        pause = min(SECOND_LOOK_SECONDS, self.sweep_seconds)
        while True:
            spread = random.uniform(0.75, 1.0)  # noqa: S311 - spreads load, guards nothing
            await _rest(pause * spread, self._children_lapsed)
            swept = await self._done(_CHILDREN, self.sweep.once)
            pause = self.sweep_seconds if swept else _RETRY_SECONDS

    async def once(self) -> None:
        """List the jobs of all served namespaces.

        Raises:
            ApiError: when the API server does not answer, or refuses everywhere.
        """
        await rounds.through(self.namespaces, self._list)

    async def _done(self, name: str, listing: Callable[[], Awaitable[None]]) -> bool:
        done = await _try(listing)
        if done:
            self.health.rounds.done(name)
        return done

    def _wake_all(self) -> None:
        for body in self.store.jobs():
            self.wake((body["metadata"]["namespace"], body["metadata"]["name"]))

    async def _list(self, namespace: str | None) -> None:
        """Take in what is listed; only the identities are kept."""
        listed: dict[str, dict[str, Any]] = {}
        version = ""
        async for page in self.api.pages(paths.jobs(namespace)):
            version = version_of(page)
            for body in page["items"]:
                metadata = body["metadata"]
                listed[metadata["uid"]] = {"metadata": {it: metadata[it] for it in _IDENTITY}}
                if self.store.put_job(body):
                    self.wake((metadata["namespace"], metadata["name"]))
        for key in self.store.drop_absent(namespace, listed.keys(), version):
            self.wake(key)
        self.ear.compare(listed.values(), namespace)


async def _try(listing: Callable[[], Awaitable[None]]) -> bool:
    try:
        await listing()
    except Exception as error:  # noqa: BLE001 - whatever it was, the next list may do
        ours = not isinstance(error, ApiError)
        _LOG.warning("a list could not be made: %s", error, exc_info=ours)
        return False
    return True


async def _rest(seconds: float, lapsed: asyncio.Event) -> None:
    """Sleep, or only until a watch has lapsed and a moment longer."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await lapsed.wait()
            await asyncio.sleep(LAPSE_SECONDS)
    lapsed.clear()
