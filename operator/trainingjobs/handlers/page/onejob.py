"""One job in a stream: what its resource says, where its ranks stand, how its training went.

A job that several look at is looked at once. Ranks are told as short rows, and only those that
have changed: a group of ten thousand costs a reader what its ranks report, and no more.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any
from weakref import WeakValueDictionary

from trainingjobs.cluster.changes import Changes
from trainingjobs.cluster.curves import Curves
from trainingjobs.cluster.gate import BusyError, Ration
from trainingjobs.cluster.observe import observe
from trainingjobs.cluster.store import Key, Manifest
from trainingjobs.handlers.page.reader import Reader
from trainingjobs.handlers.page.streams import compact, event, raw_event
from trainingjobs.handlers.standings import Sources
from trainingjobs.model import glance
from trainingjobs.model.finding import Diagnosis, Finding, RankStanding
from trainingjobs.model.job import TrainingJob, parse
from trainingjobs.model.text import cut

_FRESH = 1.0
_SHARE = 20.0
"""One part in so many of the operator's time goes to pictures of all jobs together, and to each."""
_MOST_BYTES = 48_000_000
"""Of all pictures together: ten thousand ranks take two to ten millions."""
_WORDS = 120
"""Characters of what a rank says of itself."""
_PATIENCE = 0.5


class Picture:
    """One job, as all who look at it see it; it is theirs, and goes with the last of them."""

    def __init__(self) -> None:
        self.ranks: Changes[int] = Changes()
        self.findings: list[dict[str, Any]] = []
        self.fresh_until = float("-inf")

    def take(self, diagnosis: Diagnosis) -> None:
        """Take in where the ranks stand."""
        self.ranks.keep({it.rank for it in diagnosis.ranks})
        for standing in diagnosis.ranks:
            self.ranks.put(standing.rank, _row(standing))
        self.findings = [_found(it) for it in diagnosis.findings]


class Pictures:
    """Those of the jobs that somebody looks at: no more than there are streams."""

    def __init__(self, sources: Sources, curves: Curves, clock: Callable[[], float]) -> None:
        self.sources, self.curves = sources, curves
        self._clock = clock
        self._ration = Ration(_SHARE, clock)
        self._known: WeakValueDictionary[str, Picture] = WeakValueDictionary()

    def __len__(self) -> int:
        return len(self._known)

    async def of(self, body: Manifest) -> Picture:
        """The job's picture, looked at again where it is old and there is time.

        Raises:
            BusyError: when all pictures together are too large.
        """
        uid = body["metadata"]["uid"]
        picture = self._known.setdefault(uid, Picture())
        if self._clock() >= picture.fresh_until:
            await self._look(picture, body)
            self._weigh(uid)
        return picture

    def _weigh(self, uid: str) -> None:
        """Whichever has just grown too large is drawn no more; its readers come again."""
        if sum(it.ranks.weight for it in self._known.values()) > _MOST_BYTES:
            self._known.pop(uid, None)
            raise BusyError(_SHARE)

    async def _look(self, picture: Picture, body: Manifest) -> None:
        picture.fresh_until = self._clock() + _FRESH
        job = parse(body)
        if not isinstance(job, TrainingJob):
            return
        try:
            await self._ration.turn(_PATIENCE)
        except BusyError:
            return
        started, sources = self._clock(), self.sources
        picture.take(
            sources.diagnose(job, observe(sources.store, job, sources.rolls), sources.now())
        )
        took = self._clock() - started
        self._ration.spent(took)
        picture.fresh_until = self._clock() + max(_FRESH, _SHARE * took)


class Feed:
    """One reader's look at one job."""

    def __init__(self, pictures: Pictures, reader: Reader, key: Key) -> None:
        self._pictures, self._reader, self._key = pictures, reader, key
        self._uid = ""
        self._head = b""
        self._picture: Picture | None = None
        self._number: int | None = None

    async def news(self) -> bytes:
        """What is new to this reader."""
        if await self._reader.is_due():
            await self._reader.must_get(self._key)
        body = self._pictures.sources.body(self._key)
        picture = await self._pictures.of(body)
        if picture is not self._picture:
            self._picture, self._number = picture, None
        return self._curves(body) + self._job(body, picture) + self._ranks(picture)

    def close(self) -> None:
        """The picture is looked at by one less."""
        self._picture = None

    def _curves(self, body: Manifest) -> bytes:
        """What was before; a job of the same name is another one."""
        uid = body["metadata"]["uid"]
        if uid == self._uid:
            return b""
        self._uid = uid
        return event("curves", self._pictures.curves.told(uid))

    def _job(self, body: Manifest, picture: Picture) -> bytes:
        head = event("job", {**glance.head(body), "found": picture.findings})
        if head == self._head:
            return b""
        self._head = head
        return head

    def _ranks(self, picture: Picture) -> bytes:
        news = picture.ranks.since(self._number)
        first, self._number = news.whole, news.number
        if not (first or news.values or news.gone):
            return b""
        told = compact({"whole": first, "gone": news.gone})
        rows = b",".join(news.values.values())
        return raw_event("ranks", told[:-1] + b',"rows":[' + rows + b"]}")


COLUMNS = (
    *("rank", "instance", "pod", "node", "stage", "since", "step", "rate", "line"),
    *("waits_in", "silent"),
)
"""Of a rank's row; static/ranks.js reads them in this order."""


def _row(standing: RankStanding) -> bytes:
    values = (getattr(standing, name) for name in COLUMNS)
    return compact([_plain(it) for it in values])


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")
    if isinstance(value, str):
        return cut(value, _WORDS)
    return round(value, 3) if isinstance(value, float) else value


def _found(finding: Finding) -> dict[str, Any]:
    ranks = list(finding.ranks)
    return {"type": finding.kind, "ranks": ranks, "message": finding.message, "line": finding.line}
