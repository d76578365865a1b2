"""The label by which the Service for reports finds the leader's pod, and no other.

What reports say is in one process's memory, so they have to come to that one. A leader that is dead
or stands still cannot take its own label off: whoever follows it does that.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from trainingjobs.cluster import errors, paths
from trainingjobs.cluster.api import Api
from trainingjobs.cluster.errors import ApiError, NotLeadingError
from trainingjobs.model import labels, lease

_LOG = logging.getLogger(__name__)
_AGAIN_SECONDS = 5.0
_TRY_SECONDS = 5.0


class Badge:
    """Puts the label on and takes it off, until that is done."""

    def __init__(self, api: Api, namespace: str, pod: str, holds: Callable[[], bool]) -> None:
        self._api = api
        self._namespace = namespace
        self._pod = pod
        self._holds = holds
        self._others: set[str] = set()
        self._news = asyncio.Event()

    def change(self, predecessor: str = "") -> None:
        """Somebody else leads now, or we do, and who did before."""
        pod = lease.pod_of(predecessor)
        self._others = {pod} - {"", self._pod} if self._holds() else set()
        self._news.set()

    async def keep(self) -> None:
        """Make the labels tell the truth, until cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            if not await self.tell():
                await asyncio.sleep(_AGAIN_SECONDS)
                self._news.set()

    async def tell(self) -> bool:
        """Make them tell the truth once; false where that could not be done."""
        try:
            async with asyncio.timeout(_TRY_SECONDS):
                await self._label(self._pod, "true" if self._holds() else None)
                for pod in self._others:
                    await self._label(pod, None)
        except (ApiError, NotLeadingError, TimeoutError) as error:
            _LOG.warning("the leader's label could not be set: %s", error or "no answer")
            return False
        return True

    async def _label(self, pod: str, value: str | None) -> None:
        body: dict[str, Any] = {"metadata": {"labels": {labels.LEADER: value}}}
        try:
            await self._api.request("PATCH", f"{paths.pods(self._namespace)}/{pod}", body=body)
        except ApiError as error:
            if error.status != errors.NOT_FOUND:
                raise
