"""All jobs in a stream: each reader gets those of the namespaces that he may list.

The rows are made once for all readers, and again where a job has changed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

from aiohttp import web

from trainingjobs.cluster.changes import Changes, News
from trainingjobs.cluster.reviews import User
from trainingjobs.cluster.store import Key, Manifest, Store
from trainingjobs.handlers.answers import RefusedError
from trainingjobs.handlers.page.reader import Reader
from trainingjobs.handlers.page.streams import compact, raw_event
from trainingjobs.model import glance

MOST_JOBS = 5_000
MOST_NAMESPACES = 64
"""So many may be seen by who may not see all."""
MOST_ASKED = 256
"""So many are asked about, of one reader."""
_FRESH = 1.0
_REFUSED = 300.0
"""Seconds for which it is believed that a namespace is not for this token: there are many."""
_NOWHERE = (
    "you may list TrainingJobs in none of the namespaces that have any: "
    "ask kubectl auth can-i list trainingjobs -n NAMESPACE, and name one with kubectl tj ui -n"
)


class Board:
    """The rows of all jobs."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store, self._clock = store, clock
        self._changes: Changes[Key] = Changes()
        self._seen: dict[Key, Manifest] = {}
        self._at = float("-inf")

    def namespaces(self) -> list[str]:
        """Those that have jobs."""
        self._refresh()
        return sorted({namespace for namespace, _ in self._seen})

    def since(self, number: int | None) -> News[Key]:
        """What is new to who has seen this number."""
        self._refresh()
        return self._changes.since(number)

    def _refresh(self) -> None:
        if self._clock() - self._at < _FRESH:
            return
        self._at = self._clock()
        jobs = {_key(body): body for body in islice(self._store.jobs(), MOST_JOBS)}
        self._changes.keep(set(jobs))
        for key, body in jobs.items():
            if self._seen.get(key) is not body:
                self._changes.put(key, compact(glance.row(body)))
        self._seen = jobs


@dataclass(frozen=True, slots=True)
class Sight:
    """Which namespaces a reader may see."""

    everything: bool
    namespaces: frozenset[str] = frozenset()

    def has(self, key: Key) -> bool:
        """True where this job may be shown."""
        return self.everything or key[0] in self.namespaces


class Feed:
    """One reader's look at the board."""

    def __init__(self, board: Board, reader: Reader, namespace: str | None) -> None:
        self._board, self._reader, self._namespace = board, reader, namespace
        self._number: int | None = None
        self._sight: Sight | None = None

    async def news(self) -> bytes:
        """The rows that are new to this reader."""
        if await self._reader.is_due():
            sight = await self._look(await self._reader.user())
            if sight != self._sight:
                self._sight, self._number = sight, None
        if self._sight is None:
            raise RefusedError(403, _NOWHERE)
        return self._told(self._board.since(self._number), self._sight)

    def close(self) -> None:
        """The rows are everybody's."""

    async def _look(self, user: User) -> Sight:
        """What this reader may see.

        Raises:
            RefusedError: when that is nothing.
        """
        if self._namespace is None and await self._reader.may_list(user, ""):
            return Sight(everything=True)
        seen = await (self._search(user) if self._namespace is None else self._named(user))
        if not seen:
            raise RefusedError(403, _NOWHERE)
        return Sight(everything=False, namespaces=seen)

    async def _named(self, user: User) -> frozenset[str]:
        wanted = self._namespace or ""
        return frozenset({wanted} if await self._reader.may_list(user, wanted) else ())

    async def _search(self, user: User) -> frozenset[str]:
        """Those of all that have jobs; most of them are somebody else's."""
        seen: set[str] = set()
        for namespace in self._board.namespaces()[:MOST_ASKED]:
            if len(seen) >= MOST_NAMESPACES:
                break
            if await self._reader.may_list(user, namespace, believed=_REFUSED):
                seen.add(namespace)
        return frozenset(seen)

    def _told(self, news: News[Key], sight: Sight) -> bytes:
        first, self._number = news.whole, news.number
        rows = b",".join(value for key, value in news.values.items() if sight.has(key))
        gone = [list(key) for key in news.gone if sight.has(key)]
        if not (first or rows or gone):
            return b""
        shown = None if sight.everything else sorted(sight.namespaces)
        told = compact({"whole": first, "gone": gone, "namespaces": shown})
        return raw_event("jobs", told[:-1] + b',"rows":[' + rows + b"]}")


def feed_of(board: Board, reader: Reader, request: web.Request) -> Feed:
    """The feed that a request asks for."""
    return Feed(board, reader, request.query.get("namespace") or None)


def _key(body: Manifest) -> Key:
    return body["metadata"]["namespace"], body["metadata"]["name"]
