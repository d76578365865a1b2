"""A proxy between the operator and the API server, which plays networks and servers that fail.

It hands everything on as it is, credentials included. Of each namespace it keeps a journal of
the writes and watch events that concern the namespace's job, under names that are the same in
every run; a fault is armed for one entry of such a journal and fires once.
"""

import asyncio
import json
import re
import ssl
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import aiohttp
from aiohttp import web
from yarl import URL

from faults import kinds
from faults.kinds import Answer

READS = {"GET", "HEAD"}
_VERBS = {"POST": "create", "PATCH": "patch", "DELETE": "delete", "PUT": "update"}
_OURS = {"Authorization", "Content-Type", "Accept", "User-Agent"}
_WATCHED = ("pods", "services", "trainingjobs")

Body = dict[str, Any]


async def _nothing() -> None:
    """Nobody is there to be killed."""


@dataclass(slots=True)
class Place:
    """One namespace: the job in it, the journal of that job, and what is to go wrong."""

    namespace: str
    job: str = ""
    writes: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    at: str = ""
    fault: str = ""
    seconds: float = kinds.WHILE
    """For how long permissions are away."""
    fired: bool = False
    forbidden_until: float = 0.0
    gone_until: float = 0.0
    stale: dict[str, Body] = field(default_factory=dict)
    streams: set["Stream"] = field(default_factory=set)
    kill: Callable[[], Awaitable[None]] = _nothing
    last: dict[str, bytes] = field(default_factory=dict)
    _counts: Counter[str] = field(default_factory=Counter)

    def begin(self, job: str, at: str = "", fault: str = "", seconds: float = kinds.WHILE) -> None:
        """A job's life begins; at this entry of its journal this happens."""
        self.job, self.at, self.fault, self.seconds = job, at, fault, seconds
        self.fired = False
        self.forbidden_until = self.gone_until = 0.0
        for memory in (self.writes, self.events, self.stale, self.last, self._counts):
            memory.clear()

    def due(self, journal: list[str], name: str) -> str:
        """Write it down; the fault that is to happen now, if any."""
        self._counts[name] += 1
        entry = f"{name} {self._counts[name]}"
        journal.append(entry)
        if self.fired or entry != self.at:
            return ""
        self.fired = True
        return self.fault

    def common(self, name: str) -> str | None:
        """The name as in every run; None for what belongs to another job."""
        if not self.job or not name.startswith(self.job):
            return None
        # a digest of the job's uid ends the name of the files that pods report with
        return re.sub("-rollcall-.*", "-rollcall", f"job{name[len(self.job) :]}")

    def forbid(self) -> None:
        """Take all permissions away for a while."""
        self.forbidden_until = _now() + self.seconds
        for stream in tuple(self.streams):
            stream.hang_up()

    @property
    def forbidden(self) -> bool:
        """True while nothing is allowed."""
        return _now() < self.forbidden_until


@dataclass(slots=True, eq=False)
class Call:
    """One request of the operator."""

    proxy: "Proxy"
    place: Place
    request: web.Request
    body: bytes

    async def forward(self) -> Answer:
        """What the API server answers."""
        return await self.proxy.ask(self.request, self.body)

    async def look(self) -> dict[str, Body]:
        """All that is in the namespace now."""
        return {plural: await self.proxy.list(self.place, plural) for plural in _WATCHED}

    def reply(self, answer: Answer) -> web.StreamResponse:
        """Hand it on."""
        return answer.response()

    def refuse(self, code: int, reason: str, **more: Any) -> web.StreamResponse:
        """Answer in the place of the API server."""
        return kinds.refusal(code, reason, **more).response()

    def hang_up(self) -> web.StreamResponse:
        """End the connection without a word."""
        if self.request.transport is not None:
            self.request.transport.abort()
        return web.Response()

    async def cut(self, answer: Answer) -> web.StreamResponse:
        """Hand on half of the body."""
        half = web.StreamResponse(status=answer.status, headers=answer.headers)
        half.content_length = len(answer.body)
        await half.prepare(self.request)
        await half.write(answer.body[: len(answer.body) // 2])
        self.hang_up()
        return half


class Stream:
    """One watch of the operator."""

    def __init__(self, place: Place, request: web.Request) -> None:
        self.place = place
        self.request = request
        self.response = web.StreamResponse(headers={"Content-Type": "application/json"})
        self.open = True
        self._task = asyncio.current_task()

    async def send(self, data: bytes) -> None:
        """Hand on these bytes."""
        if self.open:
            await self.response.write(data)

    def hang_up(self) -> None:
        """End the connection without a word."""
        self.open = False
        if self.request.transport is not None:
            self.request.transport.abort()
        if self._task is not None and self._task is not asyncio.current_task():
            self._task.cancel()


class Proxy:
    """Listens on a port of the loopback; knows nothing of operators but their requests."""

    def __init__(self, server: str, tls: ssl.SSLContext) -> None:
        self.places: dict[str, Place] = {}
        self.on_watch: Callable[[str, str], None] = lambda _namespace, _plural: None
        self.port = 0
        self._server = server
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=tls),
            timeout=aiohttp.ClientTimeout(total=None),
            read_bufsize=2**20,
        )
        app = web.Application(client_max_size=2**24)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        self._tokens: dict[str, str] = {}

    async def start(self) -> None:
        """Listen."""
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Close all connections."""
        for place in self.places.values():
            for stream in tuple(place.streams):
                stream.hang_up()
        await self._runner.cleanup()
        await self._session.close()

    async def ask(self, request: web.Request, body: bytes) -> Answer:
        """One request, handed on."""
        async with self._send(request, body) as answer:
            kept = {"Content-Type": answer.headers.get("Content-Type", "application/json")}
            if "Retry-After" in answer.headers:
                kept["Retry-After"] = answer.headers["Retry-After"]
            return Answer(answer.status, await answer.read(), kept)

    async def list(self, place: Place, plural: str) -> Body:
        """What the operator would list in a namespace now."""
        root = "/apis/trainingjob.dev/v1" if plural == "trainingjobs" else "/api/v1"
        url = f"{self._server}{root}/namespaces/{place.namespace}/{plural}"
        headers = {"Authorization": self._tokens[place.namespace]}
        async with self._session.get(url, headers=headers) as answer:
            listed: Body = await answer.json()
            return listed

    def _send(self, request: web.Request, body: bytes) -> Any:
        headers = {name: it for name, it in request.headers.items() if name in _OURS}
        url = self._server + request.raw_path
        return self._session.request(
            request.method, URL(url, encoded=True), data=body or None, headers=headers
        )

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        try:
            return await self._answer(request)
        except aiohttp.ClientError as error:
            return kinds.refusal(502, "BadGateway", str(error)).response()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        target = Target.of(request)
        place = self.places.get(target.namespace)
        if place is None:
            return (await self.ask(request, body)).response()
        self._tokens[place.namespace] = request.headers.get("Authorization", "")
        if place.forbidden:
            return kinds.forbidden(target.verb, target.resource).response()
        if "watch" in request.query:
            return await self._watch(place, target, request)
        call = Call(self, place, request, body)
        if request.method in READS:
            return await self._read(call, target)
        name = self._name(place, target, body)
        fault = place.due(place.writes, name) if name else ""
        if fault:
            return await kinds.WRITES[fault](call)
        return (await call.forward()).response()

    async def _read(self, call: Call, target: "Target") -> web.StreamResponse:
        stale = call.place.stale.get(target.resource)
        if stale is None or target.name:
            return (await call.forward()).response()
        selector = call.request.query.get("labelSelector", "")
        if "=" in selector:
            # the operator's own list comes after kopf's
            del call.place.stale[target.resource]
        chosen = [item for item in stale["items"] if _selected(item, selector)]
        return Answer.of({**stale, "items": chosen}).response()

    async def _watch(
        self, place: Place, target: "Target", request: web.Request
    ) -> web.StreamResponse:
        if _now() < place.gone_until:
            place.gone_until = 0.0
            return kinds.refusal(410, "Expired").response()
        stream = Stream(place, request)
        with suppress(aiohttp.ClientError, ConnectionError):
            async with self._send(request, b"") as upstream:
                stream.response.set_status(upstream.status)
                await stream.response.prepare(request)
                place.streams.add(stream)
                self.on_watch(place.namespace, target.resource)
                await self._relay(place, target, stream, upstream.content)
        place.streams.discard(stream)
        return stream.response

    async def _relay(
        self, place: Place, target: "Target", stream: Stream, lines: aiohttp.StreamReader
    ) -> None:
        async for line in lines:
            await self._tell(place, target, stream, line)
            if not stream.open:
                break

    async def _tell(self, place: Place, target: "Target", stream: Stream, line: bytes) -> None:
        event = json.loads(line)
        name = place.common(event["object"].get("metadata", {}).get("name", ""))
        if name is None or event["type"] == "BOOKMARK":
            await stream.send(line)
            return
        entry = f"{target.resource} {event['type']} {name}"
        fault = place.due(place.events, entry)
        if fault:
            await kinds.EVENTS[fault](stream, line, place.last.get(name))
        else:
            await stream.send(line)
        place.last[name] = line

    def _name(self, place: Place, target: "Target", body: bytes) -> str | None:
        """What the journal calls a write; None for one about another job."""
        told = json.loads(body) if body else {}
        if target.resource == "events":
            job = (told.get("involvedObject") or {}).get("name", "")
            reason = told.get("reason")
            named = place.common(job) if reason else None
            return f"create events {reason}" if named else None
        name = place.common(target.name or (told.get("metadata") or {}).get("name", ""))
        if name is None:
            return None
        if target.resource.endswith("/status"):
            return f"patch status {told['status'].get('phase', 'counts')}"
        return f"{target.verb} {target.resource} {name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a request is about."""

    namespace: str = ""
    resource: str = ""
    name: str = ""
    verb: str = ""

    @classmethod
    def of(cls, request: web.Request) -> "Target":
        """The target of a request; without a namespace it is about none of ours."""
        parts = unquote(request.path).strip("/").split("/")
        if "namespaces" not in parts:
            return cls()
        namespace, resource, *rest = parts[parts.index("namespaces") + 1 :]
        verb = "check" if "dryRun" in request.query else _verb(request, named=bool(rest))
        return cls(
            namespace=namespace,
            resource="/".join([resource, *rest[1:]]),
            name=rest[0] if rest else "",
            verb=verb,
        )


def _verb(request: web.Request, *, named: bool) -> str:
    if request.method in READS:
        return "watch" if "watch" in request.query else ("get" if named else "list")
    return _VERBS[request.method]


def _selected(item: Mapping[str, Any], selector: str) -> bool:
    """True when the one label that the operator selects by is there, or has this value."""
    if not selector:
        return True
    label, equals, value = selector.partition("=")
    found = (item["metadata"].get("labels") or {}).get(label)
    return found == value if equals else found is not None


def _now() -> float:
    return asyncio.get_running_loop().time()
