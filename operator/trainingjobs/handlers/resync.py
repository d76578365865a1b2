"""Lists all jobs every minute: what the watch lost is found, and a deaf watch is noticed."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from trainingjobs.cluster import paths
from trainingjobs.cluster.api import Api
from trainingjobs.cluster.errors import ApiError
from trainingjobs.cluster.shelf import version_of
from trainingjobs.cluster.store import Key, Store
from trainingjobs.handlers.health import Ear, Health

SECONDS = 60.0
_RETRY_SECONDS = 5.0
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

    async def run(self, may_begin: asyncio.Event) -> None:
        """List again and again, until cancelled."""
        await may_begin.wait()
        while True:
            pause = SECONDS if await self._try() else _RETRY_SECONDS
            await asyncio.sleep(pause)

    async def once(self) -> None:
        """List the jobs of all served namespaces.

        Raises:
            ApiError: when the API server refuses.
        """
        listed: list[dict[str, Any]] = []
        for namespace in self.namespaces or (None,):
            listed += await self._list(namespace)
        self.ear.compare(listed)
        self.health.ready = True

    async def _try(self) -> bool:
        try:
            await self.once()
        except ApiError as error:
            _LOG.warning("the jobs could not be listed: %s", error)
            return False
        return True

    async def _list(self, namespace: str | None) -> list[dict[str, Any]]:
        """Take in what is listed; only the identities are kept."""
        listed: dict[str, dict[str, Any]] = {}
        version = ""
        async for page in self.api.pages(paths.jobs(namespace)):
            version = version_of(page)
            for body in page["items"]:
                metadata = body["metadata"]
                known = {"uid": metadata["uid"], "resourceVersion": version_of(body)}
                listed[metadata["uid"]] = {"metadata": known}
                if self.store.put_job(body):
                    self.wake((metadata["namespace"], metadata["name"]))
        for key in self.store.drop_absent(namespace, listed.keys(), version):
            self.wake(key)
        return list(listed.values())
