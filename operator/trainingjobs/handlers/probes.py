"""What the kubelet and Prometheus ask: alive, ready, and how much of everything.

Every pod of the cluster can ask as well, as often as it likes, where no NetworkPolicy keeps it
from that. So connections are behind the same door as those of the roll call, and the numbers of
all jobs, which take a while to write down, are written once for all who ask meanwhile.
"""

import asyncio
import time
from collections.abc import Callable

from aiohttp import web

from trainingjobs.cluster.memo import Memo
from trainingjobs.handlers.answers import Handler
from trainingjobs.handlers.doors import Limits, Site
from trainingjobs.handlers.health import Health
from trainingjobs.handlers.metrics import Metrics

_METRICS_FORMAT = "text/plain; version=0.0.4"
_SHARE = 10.0
"""One part in so many of the operator's time goes to writing down what each job has."""


class Probes:
    """A small web server on the settings' port."""

    def __init__(
        self,
        health: Health,
        metrics: Metrics,
        leader: Callable[[], str],
        limits: Limits | None = None,
    ) -> None:
        self._health = health
        self._leader = leader
        self._metrics = metrics
        self._of_jobs: Memo[str, bytes] = Memo(1, time.monotonic)
        app = web.Application(middlewares=[_closing])
        app.router.add_get("/healthz", self._healthz)
        app.router.add_get("/readyz", self._readyz)
        app.router.add_get("/leader", self._leaderz)
        app.router.add_get("/metrics", self._metrics_text)
        self._site = Site(app, limits or Limits())

    async def start(self, port: int, host: str | None = None) -> int:
        """Answer on all addresses, or on one; the port.

        Raises:
            OSError: when the port is taken.
        """
        return await self._site.start(port, host)

    async def stop(self) -> None:
        """Close all connections."""
        await self._site.stop()

    async def _healthz(self, _: web.Request) -> web.Response:
        complaints = self._health.complaints()
        return web.Response(status=503 if complaints else 200, text="\n".join(complaints) or "ok")

    async def _readyz(self, _: web.Request) -> web.Response:
        if not self._health.ready:
            return web.Response(status=503, text="the first list of jobs is not complete")
        if not self._health.stands():
            return web.Response(status=503, text="the API server has not told whose the lease is")
        return web.Response(text="ok")

    async def _leaderz(self, _: web.Request) -> web.Response:
        told = {"leads": self._metrics.leads(), "leader": self._leader()}
        return web.json_response(told)

    async def _metrics_text(self, _: web.Request) -> web.Response:
        leads = self._metrics.leads()
        of_jobs = await self._of_jobs.get("all", self._write_down) if leads else b""
        text = self._metrics.text() + of_jobs
        return web.Response(body=text, headers={"Content-Type": _METRICS_FORMAT})

    async def _write_down(self) -> tuple[bytes, float]:
        started = time.monotonic()
        text = await asyncio.to_thread(self._metrics.text_of_jobs)
        return text, _SHARE * (time.monotonic() - started)


@web.middleware
async def _closing(request: web.Request, handler: Handler) -> web.StreamResponse:
    """A connection has one request: its time is counted from its begin."""
    answer = await handler(request)
    answer.force_close()
    return answer
