"""One candidate for one Lease: looks, takes it, renews it, gives it up.

The libraries' elections are not used. That of the official client, asynchronous or not, measures by
the wall clock, counts its own term from the answer instead of from the question, has no word for
giving up at once and none for "do I hold it now?", and lets errors of the network end it. All of
them would bring a client that takes more memory than this operator.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from trainingjobs.cluster import errors, paths
from trainingjobs.cluster.api import Api
from trainingjobs.cluster.errors import ApiError
from trainingjobs.model import lease

_LOG = logging.getLogger(__name__)
_TRY_SECONDS = 3.0
_TAKE_SECONDS = 2 * _TRY_SECONDS
"""It is a look and a write: who renews by one write must not be the only one with enough time."""
_RELEASE_SECONDS = 2.0
_PASSING = {errors.CONFLICT, errors.NOT_FOUND}
_NEVER = float("-inf")
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def clock() -> float:
    """Seconds that go on while the machine is suspended, where its system can tell."""
    return time.clock_gettime(_CLOCK)


class Office(Protocol):
    """What the leader does."""

    def begin(self, predecessor: str) -> None:
        """Lead from now on; the holder before is named, if there was one."""

    async def end(self) -> None:
        """Lead no more: when this returns, nothing of what was begun goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Who stands for which Lease, by which clocks."""

    namespace: str
    name: str
    me: str
    clock: Callable[[], float]
    today: Callable[[], datetime]
    """For the eyes of people."""


class Election:
    """Holds the Lease, or waits for it."""

    def __init__(self, api: Api, candidate: Candidate) -> None:
        self._api = api
        self._who = candidate
        self._path = paths.leases(candidate.namespace)
        self._seen: lease.Seen | None = None
        self._before = ""
        self._until = _NEVER

    def holds(self) -> bool:
        """True while nobody else can have it; asked before every write."""
        return self._who.clock() < self._until

    @property
    def stands(self) -> bool:
        """True once the API server has said whose it is: who may not ask will never lead."""
        return self._seen is not None

    @property
    def holder(self) -> str:
        """Who has it, as it was last seen."""
        return "" if self._seen is None else self._seen.holder

    async def run(self, office: Office) -> None:
        """Stand for it, lead, and stand for it again, until cancelled."""
        while True:
            await self._campaign()
            _LOG.info("leading: %s holds the lease %s", self._who.me, self._who.name)
            try:
                office.begin(self._before)
                await self._keep()
            finally:
                self._until = _NEVER
                await office.end()
            _LOG.warning("leading no more: the lease could not be renewed in time")

    async def release(self) -> None:
        """Let the next one begin at once; only after nothing is written any more."""
        self._until = _NEVER
        if self._seen is None:
            return
        with suppress(ApiError, TimeoutError):
            async with asyncio.timeout(_RELEASE_SECONDS):
                while not await self._released():
                    pass

    async def _released(self) -> bool:
        """False where a last claim of ours came in between."""
        found = await self._look()
        if found.lease is None or found.holder != self._who.me:
            return True
        try:
            await self._write(lease.released(found, self._who.today()))
        except ApiError as error:
            if error.status not in _PASSING:
                raise
            return False
        _LOG.info("the lease is released")
        return True

    async def _campaign(self) -> None:
        """Wait until the Lease is ours."""
        told = ""
        while True:
            problem = await self._tried(_TAKE_SECONDS, self._take)
            if self.holds():
                return
            if problem != told:
                level = logging.INFO if problem == self._waits() else logging.WARNING
                _LOG.log(level, "standing by: %s", problem)
            told = problem
            found, now = self._seen, self._who.clock()
            await asyncio.sleep(lease.TERMS.ask if found is None else lease.wait(found, now))

    async def _keep(self) -> None:
        """Renew until it is lost."""
        pause = lease.TERMS.renew
        while self.holds():
            left = self._until - self._who.clock()
            await asyncio.sleep(min(pause, left))
            if not self.holds():
                return
            left = self._until - self._who.clock()
            problem = await self._tried(min(_TRY_SECONDS, left), self._renew)
            if problem:
                _LOG.warning("the lease was not renewed: %s", problem)
            pause = lease.TERMS.ask if problem else lease.TERMS.renew

    async def _tried(self, seconds: float, work: Callable[[], Any]) -> str:
        """What kept it from being done; nothing where it was done."""
        try:
            async with asyncio.timeout(seconds):
                return str(await work())
        except TimeoutError:
            return "the API server does not answer"
        except ApiError as error:
            return str(error)

    async def _take(self) -> str:
        found, who = await self._look(), self._who
        if not lease.vacant(found, who.me, who.clock()):
            return self._waits()
        await self._claim(found)
        return ""

    def _waits(self) -> str:
        return f"{self.holder} leads"

    async def _renew(self) -> str:
        try:
            await self._claim(self._seen or await self._look())
        except ApiError as error:
            if error.status not in _PASSING:
                raise
            # of our own renewal whose answer was lost, or of somebody who took it
            found = await self._look()
            if found.holder != self._who.me:
                self._until = _NEVER
                return f"{found.holder or 'nobody'} has it now"
            await self._claim(found)
        return ""

    async def _look(self) -> lease.Seen:
        found: dict[str, Any] | None = None
        try:
            found = await self._api.request("GET", f"{self._path}/{self._who.name}")
        except ApiError as error:
            if error.status != errors.NOT_FOUND:
                raise
        self._seen = lease.seen(self._seen, found, self._who.clock())
        if self.holder not in {"", self._who.me}:
            self._before = self.holder
        return self._seen

    async def _claim(self, found: lease.Seen) -> None:
        """Write the Lease as ours; it is ours for so long from the question, not the answer, on."""
        asked = self._who.clock()
        await self._write(lease.claimed(found, self._who.me, self._who.today()))
        self._until = asked + lease.TERMS.deadline

    async def _write(self, says: dict[str, Any]) -> None:
        """Write it over the very version that was seen."""
        known = None if self._seen is None else self._seen.lease
        if known is None:
            answer = await self._api.request("POST", self._path, body=self._new(says))
        else:
            body = {**known, "spec": {**(known.get("spec") or {}), **says}}
            answer = await self._api.request("PUT", f"{self._path}/{self._who.name}", body=body)
        self._seen = lease.seen(None, answer, self._who.clock())

    def _new(self, says: dict[str, Any]) -> dict[str, Any]:
        metadata = {"name": self._who.name, "namespace": self._who.namespace}
        kind = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
        return {**kind, "metadata": metadata, "spec": says}
