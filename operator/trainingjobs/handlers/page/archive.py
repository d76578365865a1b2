"""What the page shows of logs and events, to whoever may read the same with kubectl.

The operator reads them with a right of its own, so each time it asks the API server first
whether the reader has that right too.
"""

import asyncio
from collections.abc import Awaitable, Callable

from aiohttp import web

from trainingjobs.cluster import errors
from trainingjobs.cluster.errors import ApiError
from trainingjobs.cluster.gate import Crowd, Gate
from trainingjobs.cluster.memo import Memo
from trainingjobs.cluster.records import Records
from trainingjobs.cluster.reviews import list_events, read_log
from trainingjobs.cluster.store import Manifest
from trainingjobs.handlers.answers import RefusedError, raw
from trainingjobs.handlers.page.reader import Reader
from trainingjobs.handlers.page.streams import compact
from trainingjobs.handlers.standings import PATH, Sources, readable
from trainingjobs.model import containers, glance
from trainingjobs.model.observed import PodSeen

EVENTS = f"{PATH}/events"
POD_EVENTS = f"{PATH}/instances/{{instance}}/events"
LOG = f"{PATH}/instances/{{instance}}/log"
_LOG_SECONDS = 2.0
_EVENTS_SECONDS = 10.0
"""An API server looks at all events of a namespace to find those of one object."""
_KEPT_BYTES = 8_000_000
_A_SECOND = 20.0
"""Reads, of all readers together."""
_SECONDS = 8.0
_AT_ONE_TIME = 6
_OF_ONE_USER = 3
_NO_LOG = "you may not read the logs of this namespace: ask kubectl auth can-i get pods/log"
_NO_EVENTS = "you may not list the events of this namespace: ask kubectl auth can-i list events"
_NO_POD = "this instance has no pod now"
_NOT_OURS = (
    "the operator itself may not read them here (the chart's rollCall.records): use the command"
)


class Archive:
    """The handler of these questions."""

    def __init__(self, sources: Sources, records: Records, clock: Callable[[], float]) -> None:
        self._sources = sources
        self._records = records
        self._known: Memo[str, bytes] = Memo(_KEPT_BYTES, clock, len)
        self._gate = Gate(_A_SECOND, Crowd(_AT_ONE_TIME, _OF_ONE_USER), clock)

    async def events(self, request: web.Request, reader: Reader) -> web.Response:
        """What was told of a job."""
        body = await self._body(request, reader)
        return await self._events(reader, body, body["metadata"]["uid"])

    async def pod_events(self, request: web.Request, reader: Reader) -> web.Response:
        """What was told of one of its pods."""
        body = await self._body(request, reader)
        return await self._events(reader, body, self._pod(request, body).uid)

    async def log(self, request: web.Request, reader: Reader) -> web.Response:
        """The last lines that one of its pods wrote."""
        body = await self._body(request, reader)
        pod, namespace = self._pod(request, body), body["metadata"]["namespace"]
        await reader.must(read_log(namespace, pod.name), _NO_LOG)
        # an only container needs no name
        container = _trainer(body, pod) if pod.beside else ""

        async def read() -> tuple[bytes, float]:
            text, more = await self._records.log(namespace, pod.name, container)
            if self._pod(request, body).uid != pod.uid:
                raise RefusedError(503, "its pod was replaced meanwhile: come again", 1)
            told = {"pod": pod.name, "attempt": pod.attempt, "text": text, "more": more}
            return compact(told), _LOG_SECONDS

        return await self._answer(reader, f"log {pod.uid}", read)

    async def _events(self, reader: Reader, of: Manifest, uid: str) -> web.Response:
        namespace = of["metadata"]["namespace"]
        await reader.must(list_events(namespace), _NO_EVENTS)

        async def read() -> tuple[bytes, float]:
            found = await self._records.events(namespace, uid)
            return compact({"events": found}), _EVENTS_SECONDS

        # what was read before something happened does not tell it
        return await self._answer(reader, f"events {uid} {glance.chapter(of)}", read)

    async def _answer(
        self, reader: Reader, what: str, read: Callable[[], Awaitable[tuple[bytes, float]]]
    ) -> web.Response:
        """What is read once for all who look at it at one time; it counts as the first one's."""
        user = await reader.user()

        async def bounded() -> tuple[bytes, float]:
            async with self._gate.turn(user.name), asyncio.timeout(_SECONDS):
                return await read()

        try:
            return raw(await self._known.get(what, bounded))
        except ApiError as error:
            raise _refusal(error) from error

    async def _body(self, request: web.Request, reader: Reader) -> Manifest:
        """The job that is asked about, for who may get it."""
        key = request.match_info["namespace"], request.match_info["name"]
        await reader.is_due()
        await reader.must_get(key)
        return self._sources.body(key)

    def _pod(self, request: web.Request, body: Manifest) -> PodSeen:
        """The instance's pod of the last attempt that has one."""
        uid = body["metadata"]["uid"]
        wanted, pods = request.match_info["instance"], self._sources.store.pods_of(uid)
        found = [it for it in pods if str(it.rank) == wanted]
        if not found:
            raise RefusedError(404, _NO_POD)
        return found[-1]


def _trainer(body: Manifest, pod: PodSeen) -> str:
    # whatever its status says
    job = readable({**body, "status": {}})
    name: str = containers.trainer(job.template(pod.rank))["name"]
    return name


def _refusal(error: ApiError) -> RefusedError:
    if error.status == errors.FORBIDDEN:
        return RefusedError(403, _NOT_OURS)
    if error.status == errors.BAD_REQUEST:
        # so the kubelet says that a container has not begun to write
        return RefusedError(404, error.message)
    if error.status == errors.NOT_FOUND:
        return RefusedError(404, _NO_POD)
    return RefusedError(503, "the API server does not tell them now: come again", 5)
