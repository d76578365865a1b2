"""The roll call's service put together: reports in, status out, on a port of its own.

It is no part of what keeps jobs alive. Where it is off, or where no pod can reach it, jobs are
run as if nobody had ever thought of it.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

import prometheus_client as prometheus
from aiohttp import web

from trainingjobs.cluster.api import Api
from trainingjobs.cluster.callers import Callers
from trainingjobs.cluster.curves import Curves
from trainingjobs.cluster.gate import Crowd, Gate
from trainingjobs.cluster.passes import Passes
from trainingjobs.cluster.records import Records
from trainingjobs.cluster.reviews import Reviews
from trainingjobs.cluster.rolls import Rolls
from trainingjobs.cluster.store import Key, Store
from trainingjobs.diagnosis import stacks
from trainingjobs.diagnosis.diagnose import diagnose
from trainingjobs.handlers import reports, standings
from trainingjobs.handlers.answers import doorkeeper, raw
from trainingjobs.handlers.bells import Bells
from trainingjobs.handlers.doors import Limits, Site
from trainingjobs.handlers.page import routes
from trainingjobs.handlers.page.streams import Bounds
from trainingjobs.handlers.tallies import Tallies
from trainingjobs.model.report import MAX_BODY
from trainingjobs.schema import service

_QUESTIONS = 20.0
"""Tokens and permissions of people that are asked about in a second."""
_ASKING = 64
_ASKING_FOR_ONE = 8
_ROUTES = {
    reports.PATH: "reports",
    standings.PATH: "trainingjobs",
    standings.STACKS: "trainingjobs",
    **dict.fromkeys(routes.PATHS, "page"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What the service is made of."""

    api: Api
    store: Store
    rolls: Rolls
    registry: prometheus.CollectorRegistry
    wake: Callable[[Key], None]
    ready: Callable[[str], bool]
    rate: float
    leads: Callable[[], bool] = lambda: True
    """A standby has heard nothing, and so has nothing to say."""
    leader: Callable[[], str] = lambda: ""
    """Who leads, as far as it is known here."""
    api_tokens: bool = False
    """Whether a token for the API server itself opens the whole status."""
    limits: Limits = field(default_factory=Limits)
    bounds: Bounds = field(default_factory=Bounds)
    curves: Curves = field(default_factory=Curves)


class RollCall:
    """The service."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._tallies = Tallies(parts.registry, lambda: parts.rolls.heard)
        self._bells = Bells(parts.wake)
        self._site: Site | None = None
        self._document = service.text().encode()

    async def start(self, port: int, host: str | None = None) -> int:
        """Serve; the port.

        Raises:
            OSError: when the port is taken.
        """
        self._site = Site(self._app(), self._parts.limits)
        return await self._site.start(port, host)

    async def stop(self) -> None:
        """Serve no more."""
        self._bells.stop()
        if self._site is not None:
            await self._site.stop()

    def silent(self) -> str | None:
        """What is wrong with it; nothing where it was never asked to serve."""
        if self._site is None or self._site.serving:
            return None
        return "nobody listens on the port of the roll call"

    def _app(self) -> web.Application:
        parts = self._parts
        keep = doorkeeper(parts.limits, self._count)
        app = web.Application(client_max_size=MAX_BODY, middlewares=[keep])
        app.router.add_post(reports.PATH, self._reports().take)
        sources, rights = self._sources(), self._rights()
        told = standings.Standings(sources, rights, time.monotonic)
        app.router.add_get(standings.PATH, told.tell, allow_head=False)
        app.router.add_get(standings.STACKS, told.stacks, allow_head=False)
        app.router.add_get(service.PATH, self._describe, allow_head=False)
        routes.Page(
            sources=sources,
            rights=rights,
            leader=parts.leader,
            bounds=parts.bounds,
            curves=parts.curves,
            records=Records(parts.api),
        ).serve(app)
        return app

    def _reports(self) -> reports.Reports:
        parts = self._parts
        rate = max(parts.rate / 2, _QUESTIONS)
        gate = Gate(rate, Crowd(8 * _ASKING, _ASKING_FOR_ONE), time.monotonic)
        return reports.Reports(
            passes=Passes(Reviews(parts.api), gate, time.monotonic, time.time),
            callers=Callers(parts.store, time.monotonic),
            rolls=parts.rolls,
            allowance=reports.Allowance(time.monotonic),
            ring=self._bells.ring,
            ready=parts.ready,
            body_seconds=parts.limits.body_seconds,
        )

    def _sources(self) -> standings.Sources:
        parts = self._parts
        return standings.Sources(
            store=parts.store,
            rolls=parts.rolls,
            diagnose=diagnose,
            stand=stacks.asked,
            now=lambda: datetime.now(UTC),
            leads=parts.leads,
        )

    def _rights(self) -> standings.Rights:
        parts = self._parts
        gate = Gate(_QUESTIONS, Crowd(_ASKING, _ASKING_FOR_ONE), time.monotonic)
        reviews, tokens = Reviews(parts.api), parts.api_tokens
        return standings.Rights(reviews, gate, time.monotonic, api_tokens=tokens)

    async def _describe(self, _: web.Request) -> web.Response:
        return raw(self._document)

    def _count(self, request: web.Request, code: int, seconds: float) -> None:
        resource = request.match_info.route.resource
        path = "" if resource is None else resource.canonical
        self._tallies.count(_ROUTES.get(path, "other"), code, seconds)
