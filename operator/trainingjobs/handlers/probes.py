"""What the kubelet and Prometheus ask: alive, ready, and how much of everything."""

import asyncio

from aiohttp import web

from trainingjobs.handlers.health import Health
from trainingjobs.handlers.metrics import Metrics

_METRICS_FORMAT = "text/plain; version=0.0.4"


class Probes:
    """A small web server on the settings' port."""

    def __init__(self, health: Health, metrics: Metrics) -> None:
        self._health = health
        self._metrics = metrics
        app = web.Application()
        app.router.add_get("/healthz", self._healthz)
        app.router.add_get("/readyz", self._readyz)
        app.router.add_get("/metrics", self._metrics_text)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)

    async def start(self, port: int) -> None:
        """Answer on all addresses.

        Raises:
            OSError: when the port is taken.
        """
        await self._runner.setup()
        await web.TCPSite(self._runner, port=port).start()

    async def stop(self) -> None:
        """Close all connections."""
        await self._runner.cleanup()

    async def _healthz(self, _: web.Request) -> web.Response:
        complaints = self._health.complaints()
        return web.Response(status=503 if complaints else 200, text="\n".join(complaints) or "ok")

    async def _readyz(self, _: web.Request) -> web.Response:
        if self._health.ready:
            return web.Response(text="ok")
        return web.Response(status=503, text="the first list of jobs is not complete")

    async def _metrics_text(self, _: web.Request) -> web.Response:
        jobs = await asyncio.to_thread(self._metrics.text_of_jobs)
        text = self._metrics.text() + jobs
        return web.Response(body=text, headers={"Content-Type": _METRICS_FORMAT})
