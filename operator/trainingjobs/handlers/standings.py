"""Status out: all ranks of a job, whole, for whoever may get that job with kubectl.

The resource has room for a few ranks in trouble; this has them all. The API server says who
asks and whether that one may, so there are no permissions here beside the cluster's own.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from aiohttp import web

from trainingjobs.cluster.gate import Gate
from trainingjobs.cluster.memo import Bounded, Memo
from trainingjobs.cluster.observe import observe
from trainingjobs.cluster.passes import digest, meant_for
from trainingjobs.cluster.reviews import Reviews, User
from trainingjobs.cluster.rolls import Rolls
from trainingjobs.cluster.store import Key, Manifest, Store
from trainingjobs.handlers.answers import RefusedError, raw
from trainingjobs.handlers.reports import bearer
from trainingjobs.model.finding import Diagnosis
from trainingjobs.model.job import TrainingJob, parse
from trainingjobs.model.observed import Observed
from trainingjobs.model.whole import whole

AUDIENCE = "trainingjob.dev/status"
"""A token may be made for this alone, so that it is good for nothing else; it need not be."""
PATH = "/api/v1/namespaces/{namespace}/trainingjobs/{name}"
_SECONDS = 10.0
"""For so long it is believed that somebody is who he was, and may what he could."""
_REMEMBERED = 4_096
_FRESH = 1.0
_SHARE = 20.0
"""An answer is told again for so many times the time that it took to make."""

Diagnose = Callable[[TrainingJob, Observed, datetime], Diagnosis]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Where the answer comes from."""

    store: Store
    rolls: Rolls
    diagnose: Diagnose
    now: Callable[[], datetime]


class Standings:
    """The handler of questions."""

    def __init__(
        self, sources: Sources, reviews: Reviews, gate: Gate, clock: Callable[[], float]
    ) -> None:
        self._sources = sources
        self._reviews = reviews
        self._gate = gate
        self._clock = clock
        self._users: Memo[bytes, User | None] = Memo(_REMEMBERED, clock)
        self._rights: Memo[tuple[bytes, Key], bool] = Memo(_REMEMBERED, clock)
        self._told: Bounded[str, tuple[float, bytes]] = Bounded(64)

    async def tell(self, request: web.Request) -> web.Response:
        """The whole status of one job."""
        key = request.match_info["namespace"], request.match_info["name"]
        token, address = bearer(request), request.remote or ""
        user = await self._user(token, address)
        if not await self._may(user, token, key, address):
            # whether there is such a job is told to those alone who may get it
            words = "you may not get this TrainingJob: ask kubectl auth can-i get trainingjobs"
            raise RefusedError(403, words)
        body = self._sources.store.job(key)
        if body is None:
            raise RefusedError(404, "there is no such TrainingJob in what this operator serves")
        job = parse(body)
        if not isinstance(job, TrainingJob):
            raise RefusedError(404, "the spec of this TrainingJob cannot be read: see its events")
        return raw(self._answer(job, body.get("status") or {}))

    async def _user(self, token: str, address: str) -> User:
        async def ask() -> tuple[User | None, float]:
            audience = AUDIENCE if meant_for(token, AUDIENCE) else None
            async with self._gate.turn(address):
                return await self._reviews.user(token, audience), _SECONDS

        user = await self._users.get(digest(token), ask)
        if user is None:
            raise RefusedError(401, "the API server does not take this token")
        return user

    async def _may(self, user: User, token: str, key: Key, address: str) -> bool:
        async def ask() -> tuple[bool, float]:
            async with self._gate.turn(address):
                return await self._reviews.may_get(user, *key), _SECONDS

        return await self._rights.get((digest(token), key), ask)

    def _answer(self, job: TrainingJob, status: Manifest) -> bytes:
        known = self._told.get(job.uid)
        started = self._clock()
        if known is not None and started < known[0]:
            return known[1]
        sources = self._sources
        seen = observe(sources.store, job, sources.rolls)
        found = whole(status, sources.diagnose(job, seen, sources.now()))
        body = found.model_dump_json(by_alias=True).encode()
        took = self._clock() - started
        self._told.put(job.uid, (started + max(_FRESH, _SHARE * took), body))
        return body
