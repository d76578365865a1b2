"""Status out: all ranks of a job, whole, and where they stand, for whoever may get that job.

The resource has room for a few ranks in trouble; this has them all. The API server says who
asks and whether that one may, so there are no permissions here beside the cluster's own.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from aiohttp import web

from trainingjobs.cluster.gate import Gate, Ration
from trainingjobs.cluster.memo import Memo
from trainingjobs.cluster.observe import observe
from trainingjobs.cluster.passes import digest, meant_for
from trainingjobs.cluster.reviews import Reviews, User, Wish, get_job
from trainingjobs.cluster.rolls import Rolls
from trainingjobs.cluster.store import Key, Manifest, Store
from trainingjobs.handlers.answers import NO_LEADER, PROVEN, RefusedError, raw
from trainingjobs.handlers.reports import bearer
from trainingjobs.model import labels
from trainingjobs.model.finding import Diagnosis
from trainingjobs.model.job import TrainingJob, parse
from trainingjobs.model.observed import Observed
from trainingjobs.model.whole import Stacks, whole

AUDIENCE = labels.STATUS_AUDIENCE
_FOR_US = f"make a token for this alone: kubectl create token ACCOUNT --audience {AUDIENCE}"
PATH = "/api/v1/namespaces/{namespace}/trainingjobs/{name}"
STACKS = f"{PATH}/stacks"
_SECONDS = 10.0
"""For so long it is believed that somebody is who he was, and may what he could."""
_REMEMBERED = 4_096
_FRESH = 1.0
"""An answer is told again for so many seconds at least."""
_SHARE = 20.0
"""One part in so many of the operator's time goes to making answers, of all jobs together, and one
in so many again to those of one job."""
_KEPT_BYTES = 16_000_000

Diagnose = Callable[[TrainingJob, Observed, datetime], Diagnosis]
Stand = Callable[[TrainingJob, Observed, datetime], Stacks]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Where the answer comes from."""

    store: Store
    rolls: Rolls
    diagnose: Diagnose
    stand: Stand
    now: Callable[[], datetime]
    leads: Callable[[], bool] = lambda: True

    def body(self, key: Key) -> Manifest:
        """The job.

        Raises:
            RefusedError: when there is none.
        """
        body = self.store.job(key)
        if body is None:
            raise RefusedError(404, "there is no such TrainingJob in what this operator serves")
        return body


def readable(body: Manifest) -> TrainingJob:
    """The job, parsed.

    Raises:
        RefusedError: when its spec cannot be read.
    """
    job = parse(body)
    if not isinstance(job, TrainingJob):
        raise RefusedError(404, "the spec of this TrainingJob cannot be read: see its events")
    return job


class Rights:
    """Who asks, and what that one may, by the word of the API server."""

    def __init__(
        self, reviews: Reviews, gate: Gate, clock: Callable[[], float], *, api_tokens: bool
    ) -> None:
        self._reviews = reviews
        self._gate = gate
        self._api_tokens = api_tokens
        self._users: Memo[bytes, User | None] = Memo(_REMEMBERED, clock)
        self._rights: Memo[tuple[bytes, Wish], bool] = Memo(_REMEMBERED, clock)

    async def user(self, token: str, address: str) -> User:
        """Whose token it is.

        Raises:
            RefusedError: when it is nobody's, or not meant for us.
        """
        alone = meant_for(token, AUDIENCE)
        if not alone and not self._api_tokens:
            # it is good for more than this, and has come over a wire that anybody may read
            raise RefusedError(401, _FOR_US)

        async def ask() -> tuple[User | None, float]:
            async with self._gate.turn(address):
                return await self._reviews.user(token, AUDIENCE if alone else None), _SECONDS

        user = await self._users.get(digest(token), ask)
        if user is None:
            raise RefusedError(401, "the API server does not take this token")
        return user

    async def may(
        self, user: User, token: str, wish: Wish, address: str, believed: float | None = None
    ) -> bool:
        """True when this user may do this.

        Args:
            user: who asks.
            token: what shows it.
            wish: what for.
            address: from where.
            believed: seconds for which a no holds, where that is for longer than a yes.
        """

        async def ask() -> tuple[bool, float]:
            async with self._gate.turn(address):
                may = await self._reviews.may(user, wish)
            return may, _SECONDS if may or believed is None else believed

        return await self._rights.get((digest(token), wish), ask)


class Standings:
    """The handler of questions."""

    def __init__(self, sources: Sources, rights: Rights, clock: Callable[[], float]) -> None:
        self._sources = sources
        self._rights = rights
        self._clock = clock
        self._ration = Ration(_SHARE, clock)
        self._told: Memo[tuple[str, str], bytes] = Memo(_KEPT_BYTES, clock, len)

    async def tell(self, request: web.Request) -> web.Response:
        """The whole status of one job."""
        job, status = await self._job(request)

        def make(seen: Observed) -> str:
            found = self._sources.diagnose(job, seen, self._sources.now())
            return whole(status, found).model_dump_json(by_alias=True)

        return await self._answer("", job, make)

    async def stacks(self, request: web.Request) -> web.Response:
        """Where all ranks of one job stand."""
        job, _ = await self._job(request)

        def make(seen: Observed) -> str:
            found = self._sources.stand(job, seen, self._sources.now())
            return found.model_dump_json(by_alias=True)

        return await self._answer("stacks", job, make)

    async def _job(self, request: web.Request) -> tuple[TrainingJob, Manifest]:
        """The job that is asked about, for who may ask, and what its status says."""
        key = request.match_info["namespace"], request.match_info["name"]
        token, address = bearer(request), request.remote or ""
        user = await self._rights.user(token, address)
        request[PROVEN] = True
        if not self._sources.leads():
            raise RefusedError(503, NO_LEADER, 1)
        if not await self._rights.may(user, token, get_job(*key), address):
            # whether there is such a job is told to those alone who may get it
            words = "you may not get this TrainingJob: ask kubectl auth can-i get trainingjobs"
            raise RefusedError(403, words)
        body = self._sources.body(key)
        return readable(body), body.get("status") or {}

    async def _answer(
        self, kind: str, job: TrainingJob, make: Callable[[Observed], str]
    ) -> web.Response:
        async def made() -> tuple[bytes, float]:
            await self._ration.turn()
            started, sources = self._clock(), self._sources
            body = make(observe(sources.store, job, sources.rolls)).encode()
            took = self._clock() - started
            self._ration.spent(took)
            return body, max(_FRESH, _SHARE * took)

        return raw(await self._told.get((kind, job.uid), made))
