"""Answers that say in one short JSON object what is wrong and what to do about it.

Nothing that was sent comes back but for the names of fields, cut short: an answer may end up
in somebody's log.
"""

import asyncio
import json
import logging
import math
import time
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web
from pydantic import ValidationError

from trainingjobs.cluster.errors import ApiError, NotLeadingError
from trainingjobs.cluster.gate import BusyError, Crowd
from trainingjobs.handlers.doors import Limits
from trainingjobs.model import labels
from trainingjobs.model.text import printable

_LOG = logging.getLogger(__name__)
LONGEST = 300
"""Characters of what an error says."""
_ERRORS = 3
_FIELD = 80
_KEPT_BACK = frozenset({400, 401, 403, 404, 405, 413, 415, 429})
PROVEN = web.RequestKey("proven", bool)
"""Set on a request when the API server has said whose it is."""
READY = web.RequestKey("ready", bool)
"""Set on a request whose answer is the same for everybody and lies there ready."""
_BUSY = "the operator is busy: come again"
_SILENT = "the API server does not answer now: come again"

NO_LEADER = "this replica of the operator does not lead: come again"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Flow(web.StreamResponse):
    """An answer that goes on for long, to somebody who is known: no part of the crowd."""

    async def flow(self, request: web.Request) -> None:
        """Send it, to its end."""
        raise NotImplementedError


class RefusedError(Exception):
    """A request that is not served, and why."""

    def __init__(self, status: int, words: str, retry_after: float | None = None) -> None:
        super().__init__(words)
        self.status = status
        self.words = words
        self.retry_after = retry_after


def told(value: Any, status: int = 200) -> web.Response:
    """A JSON answer."""
    return raw(json.dumps(value).encode(), status)


def raw(body: bytes, status: int = 200) -> web.Response:
    """An answer that is JSON already."""
    answer = web.Response(body=body, status=status, content_type="application/json")
    # who serves is told, not with which versions of what
    answer.headers["Server"] = labels.COMPONENT_NAME
    answer.headers["Cache-Control"] = "no-store"
    answer.headers["X-Content-Type-Options"] = "nosniff"
    answer.force_close()
    return answer


def refused(refusal: RefusedError) -> web.Response:
    """The answer to a request that is not served."""
    answer = told({"error": printable(refusal.words)[:LONGEST]}, refusal.status)
    if refusal.retry_after is not None:
        answer.headers["Retry-After"] = str(max(1, math.ceil(refusal.retry_after)))
    if refusal.status == web.HTTPUnauthorized.status_code:
        answer.headers["WWW-Authenticate"] = "Bearer"
    return answer


def what_is_wrong(error: ValidationError) -> str:
    """The first things that are wrong, each with its field."""
    found = error.errors(include_input=False, include_url=False, include_context=False)
    words = [f"{_field(item['loc'])}{item['msg']}" for item in found[:_ERRORS]]
    more = len(found) - len(words)
    return "; ".join([*words, *([f"and {more} more"] if more else [])])


def _field(path: tuple[int | str, ...]) -> str:
    name = printable(".".join(map(str, path)))
    return f"{name[:_FIELD]}: " if name else ""


_EXPECTED = (
    *(RefusedError, BusyError, ApiError, NotLeadingError, TimeoutError),
    web.HTTPException,
)


def doorkeeper(limits: Limits, done: Callable[[web.Request, int, float], None]) -> Any:
    """The middleware that every request goes through: room, time, and errors as JSON.

    What a stranger asks, or somebody who should not have, is answered late.
    """
    crowd = Crowd(limits.requests, limits.requests_of_one_address)

    @web.middleware
    async def keep(request: web.Request, handler: Handler) -> web.StreamResponse:
        started = time.monotonic()
        try:
            with crowd.room(request.remote):
                async with asyncio.timeout(limits.seconds / 2):
                    answer = await handler(request)
            if isinstance(answer, Flow):
                await answer.flow(request)
                # how long somebody looked on is no time that an answer took
                started = time.monotonic()
        except _EXPECTED as error:
            answer = refused(_refusal(error))
            answer.headers.update(_allowed(error))
        except Exception:  # noqa: BLE001  whatever it is, it is no answer
            _LOG.exception("a request to the roll call failed")
            answer = refused(RefusedError(500, "this is an error of the operator: see its log"))
        done(request, answer.status, time.monotonic() - started)
        known = request.get(PROVEN) or request.get(READY)
        if answer.status in _KEPT_BACK or not known:
            await asyncio.sleep(limits.penalty)
        return answer

    return keep


def _refusal(error: Exception) -> RefusedError:
    match error:
        case RefusedError():
            return error
        case BusyError():
            return RefusedError(503, _BUSY, error.seconds)
        case web.HTTPException():
            return RefusedError(error.status, error.reason.lower())
        case NotLeadingError():
            return RefusedError(503, NO_LEADER, 1)
        case ApiError():
            return RefusedError(503, _SILENT, 5)
        case _:
            return RefusedError(503, _BUSY, 2)


def _allowed(error: Exception) -> dict[str, str]:
    if isinstance(error, web.HTTPMethodNotAllowed):
        return {"Allow": ", ".join(sorted(error.allowed_methods))}
    return {}
