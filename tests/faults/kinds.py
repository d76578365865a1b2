"""Every kind of fault: what happens to one write, or to one event of a watch."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aiohttp import web

if TYPE_CHECKING:
    from faults.proxy import Call, Stream

WHILE = 2.0
"""For how long permissions are away unless a case says more, and what freezes is frozen."""
MINUTE = 60.0
INJECTED = "injected by the fault harness"


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete answer of an API server."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, body: dict[str, Any], status: int = 200) -> "Answer":
        """An answer in JSON."""
        return cls(status, json.dumps(body).encode(), {"Content-Type": "application/json"})

    def response(self) -> web.Response:
        """The answer as it goes out."""
        return web.Response(status=self.status, body=self.body, headers=self.headers)


def refusal(code: int, reason: str, message: str = INJECTED, retry_after: int = 0) -> Answer:
    """A Status as API servers answer it."""
    said = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "metadata": {}}
    answer = Answer.of({**said, "code": code, "reason": reason, "message": message}, code)
    if retry_after:
        answer.headers["Retry-After"] = str(retry_after)
    return answer


def forbidden(verb: str, resource: str) -> Answer:
    """What one hears whose permissions are gone."""
    words = f'{resource} is forbidden: User "operator" cannot {verb} resource "{resource}"'
    return refusal(403, "Forbidden", words)


async def _kill_before(call: "Call") -> web.StreamResponse:
    await call.place.kill()
    return call.hang_up()


async def _kill_after(call: "Call") -> web.StreamResponse:
    await call.forward()
    await call.place.kill()
    return call.hang_up()


async def _kill_stale(call: "Call") -> web.StreamResponse:
    """The new operator is shown what was there before the write, and then what came of it."""
    before = await call.look()
    await call.forward()
    await call.place.kill()
    call.place.stale = before
    return call.hang_up()


async def _lost_reply(call: "Call") -> web.StreamResponse:
    await call.forward()
    return call.hang_up()


async def _lost_request(call: "Call") -> web.StreamResponse:
    return call.hang_up()


async def _conflict(call: "Call") -> web.StreamResponse:
    return call.refuse(409, "Conflict")


async def _exists(call: "Call") -> web.StreamResponse:
    return call.refuse(409, "AlreadyExists")


async def _invalid(call: "Call") -> web.StreamResponse:
    return call.refuse(422, "Invalid")


async def _too_many(call: "Call") -> web.StreamResponse:
    return call.refuse(429, "TooManyRequests", retry_after=1)


async def _error(call: "Call") -> web.StreamResponse:
    return call.refuse(500, "InternalError")


async def _unavailable(call: "Call") -> web.StreamResponse:
    return call.refuse(503, "ServiceUnavailable")


async def _cut(call: "Call") -> web.StreamResponse:
    return await call.cut(await call.forward())


async def _freeze(call: "Call") -> web.StreamResponse:
    await asyncio.sleep(WHILE)
    return (await call.forward()).response()


async def _unknown(call: "Call") -> web.StreamResponse:
    return call.refuse(401, "Unauthorized")


async def _forbid(call: "Call") -> web.StreamResponse:
    call.place.forbid()
    return call.refuse(403, "Forbidden")


WRITES: dict[str, Callable[["Call"], Awaitable[web.StreamResponse]]] = {
    "kill_before": _kill_before,
    "kill_after": _kill_after,
    "kill_stale": _kill_stale,
    "lost_reply": _lost_reply,
    "lost_request": _lost_request,
    "401": _unknown,
    "409": _conflict,
    "409_exists": _exists,
    "422": _invalid,
    "429": _too_many,
    "500": _error,
    "503": _unavailable,
    "cut": _cut,
    "freeze": _freeze,
    "forbid": _forbid,
}


async def _kill_at(stream: "Stream", _line: bytes, _before: bytes | None) -> None:
    await stream.place.kill()
    stream.hang_up()


async def _split(stream: "Stream", line: bytes, _before: bytes | None) -> None:
    half = len(line) // 2
    await stream.send(line[:half])
    await asyncio.sleep(0.2)
    await stream.send(line[half:])


async def _repeat(stream: "Stream", line: bytes, _before: bytes | None) -> None:
    await stream.send(line + line)


async def _old(stream: "Stream", line: bytes, before: bytes | None) -> None:
    """The event, and the one before it once more."""
    await stream.send(line + (before or b""))


async def _gone(stream: "Stream", _line: bytes, _before: bytes | None) -> None:
    """The event is lost, since the version that was watched from has expired."""
    await _fail(stream, 410, "Expired")


async def _failed(stream: "Stream", _line: bytes, _before: bytes | None) -> None:
    """The event is lost, since the API server's own watch has failed."""
    await _fail(stream, 500, "InternalError")


async def _fail(stream: "Stream", code: int, reason: str) -> None:
    status = json.loads(refusal(code, reason).body)
    await stream.send(json.dumps({"type": "ERROR", "object": status}).encode() + b"\n")
    await asyncio.sleep(0.1)
    stream.hang_up()


async def _gone_later(stream: "Stream", _line: bytes, _before: bytes | None) -> None:
    """The watch ends, and the next one is refused."""
    stream.place.gone_until = asyncio.get_running_loop().time() + WHILE
    stream.hang_up()


async def _cut_line(stream: "Stream", line: bytes, _before: bytes | None) -> None:
    await stream.send(line[: len(line) // 2])
    await asyncio.sleep(0.1)
    stream.hang_up()


async def _end_in_line(stream: "Stream", line: bytes, _before: bytes | None) -> None:
    """A server that goes down ends the body in good order, wherever it stands."""
    await stream.send(line[: len(line) // 2])
    stream.open = False


async def _freeze_line(stream: "Stream", line: bytes, _before: bytes | None) -> None:
    await asyncio.sleep(WHILE)
    await stream.send(line)


async def _forbid_at(stream: "Stream", _line: bytes, _before: bytes | None) -> None:
    stream.place.forbid()


EVENTS: dict[str, Callable[["Stream", bytes, bytes | None], Awaitable[None]]] = {
    "kill": _kill_at,
    "split": _split,
    "repeat": _repeat,
    "old": _old,
    "gone": _gone,
    "gone_later": _gone_later,
    "failed": _failed,
    "cut": _cut_line,
    "end": _end_in_line,
    "freeze": _freeze_line,
    "forbid": _forbid_at,
}

KILLS = {"kill_before", "kill_after", "kill_stale", "kill"}
FORBIDS = "forbid"
