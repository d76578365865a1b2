"""Reports in: who speaks is known from the token, what is said is checked against that.

The order is the order of cost. A token is looked at before a body is read, and a body is read
before it is believed; a pod that sends more than it was asked for is told so before either.
"""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field

from aiohttp import web
from pydantic import ValidationError

from trainingjobs.cluster.callers import Caller, Callers, UnknownPodError
from trainingjobs.cluster.memo import Bounded
from trainingjobs.cluster.passes import Claims, Passes, TokenError
from trainingjobs.cluster.rolls import Rolls
from trainingjobs.cluster.store import Key
from trainingjobs.handlers import bells
from trainingjobs.handlers.answers import PROVEN, RefusedError, told, what_is_wrong
from trainingjobs.model.report import MAX_BODY, Answer, Report

PATH = "/api/v1/reports"
_REMEMBERED = 32_768
_SCHEME = "bearer "
_STRANGER = "this pod is not known as one of a TrainingJob's yet: come again"
_NOT_YET = "the operator has just started, or does not lead: come again"
_LATE = 30.0
"""Who is unknown for so long will hardly be known in a second."""


@dataclass(slots=True)
class Allowance:
    """How many reports a pod may send: some at once, then so many in a second."""

    clock: Callable[[], float]
    _until: Bounded[str, float] = field(default_factory=lambda: Bounded(_REMEMBERED))

    def spend(self, caller: Caller) -> float:
        """Take one; the seconds to wait where there is none."""
        rate, burst = (2 + caller.processes) / 2.5, 16 + 8 * caller.processes
        now = self.clock()
        due = max(self._until.get(caller.pod_uid) or 0.0, now - burst / rate) + 1 / rate
        if due > now:
            return due - now
        self._until.put(caller.pod_uid, due)
        return 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reports:
    """The handler of reports."""

    passes: Passes
    callers: Callers
    rolls: Rolls
    allowance: Allowance
    ring: Callable[[Key, float], None]
    ready: Callable[[str], bool]
    """True when all pods of a namespace have been listed."""
    body_seconds: float

    async def take(self, request: web.Request) -> web.Response:
        """Take a report in; the answer says when the next one is wanted."""
        caller = await self._caller(request)
        wait = self.allowance.spend(caller)
        if wait:
            words = "this pod reports more often than it is asked to: keep to the interval"
            raise RefusedError(429, words, wait)
        body = await self._body(request)
        report = _read(body)
        _check(caller, report)
        # the lead may have gone while the token was asked about: nothing is waited for behind this
        if not self.ready(caller.key[0]):
            raise RefusedError(503, _NOT_YET, 5)
        before, entry = self.rolls.take(caller, report, len(body))
        old = None if before is None else before.report
        gap = bells.gap(caller, old, entry.report, self.rolls.jobs)
        if gap is not None:
            self.ring(caller.key, gap)
        return told(Answer(interval=entry.interval.total_seconds()).model_dump(by_alias=True))

    async def _caller(self, request: web.Request) -> Caller:
        """The pod that speaks: what its token says is looked up before it is asked about.

        Who has proved nothing is told nothing of pods: no more than to come again.
        """
        token = bearer(request)
        try:
            said = self.passes.read(token)
            if not self.ready(said.bound.namespace):
                raise RefusedError(503, _NOT_YET, 5)
            try:
                caller = self.callers.find(said.pod_uid)
            except UnknownPodError as error:
                if error.stranger:
                    raise RefusedError(503, _STRANGER, _LATE if error.forever else 1) from None
                await self._prove(request, token, said)
                raise RefusedError(403, str(error)) from None
            await self._prove(request, token, said)
        except TokenError as error:
            raise RefusedError(401, str(error)) from None
        return caller

    async def _prove(self, request: web.Request, token: str, said: Claims) -> None:
        await self.passes.proof(token, said, request.remote or "")
        request[PROVEN] = True

    async def _body(self, request: web.Request) -> bytes:
        if request.content_type != "application/json" or "Content-Encoding" in request.headers:
            raise RefusedError(415, "send JSON as it is, with Content-Type: application/json")
        if (request.content_length or 0) > MAX_BODY:
            raise RefusedError(413, _TOO_LARGE)
        try:
            async with asyncio.timeout(self.body_seconds):
                return await request.read()
        except TimeoutError:
            raise RefusedError(408, "the body came too slowly") from None
        except web.HTTPRequestEntityTooLarge:
            raise RefusedError(413, _TOO_LARGE) from None
        except (ConnectionError, web.RequestPayloadError):
            raise RefusedError(400, "the body has not come whole") from None


_TOO_LARGE = f"a report has at most {MAX_BODY} bytes: send fewer frames and metrics"


def bearer(request: web.Request) -> str:
    """The token that the request shows.

    Raises:
        RefusedError: when it shows none.
    """
    header = request.headers.get("Authorization", "")
    token = header[len(_SCHEME) :].strip()
    if not header.lower().startswith(_SCHEME) or not token or not token.isascii():
        raise RefusedError(401, "show a token: Authorization: Bearer TOKEN")
    return token


def _read(body: bytes) -> Report:
    try:
        return Report.model_validate_json(body, strict=True)
    except ValidationError as error:
        wrong = error
    if all(it["type"] == "int_type" for it in wrong.errors(include_input=False)):
        # JSON has one kind of numbers, and some languages write 3.0 for 3
        with contextlib.suppress(ValidationError):
            return Report.model_validate_json(body)
    raise RefusedError(400, f"this is no report: {what_is_wrong(wrong)}")


def _check(caller: Caller, report: Report) -> None:
    ranks = caller.ranks
    if report.rank is None or caller.may_be(report.rank, report.world_size):
        return
    mine = str(ranks[0]) if len(ranks) == 1 else f"{ranks[0]} to {ranks[-1]}"
    raise RefusedError(
        400,
        f"rank {report.rank} is not one of this pod's, which are {mine}: set "
        "spec.processesPerInstance to the number of processes that each instance starts",
    )
