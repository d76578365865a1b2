"""One system at work in a namespace of its own: the hands that scenarios measure with."""

import asyncio
import itertools
import math
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

from benchmarks.compare import floor
from benchmarks.compare.client import Client, Json, Request
from benchmarks.compare.kinds import KINDS
from benchmarks.compare.stand import Stand
from benchmarks.compare.systems import JOBS, Running, System
from benchmarks.compare.usage import Usage
from benchmarks.compare.view import View

QUIET: Final = 5.0
"""So long nothing is written before a system counts as settled."""
_SUBMITS: Final = 32
_TRIES: Final = 60
_NUMBERS: Final = itertools.count(1)

Figures = dict[str, float]


@dataclass(slots=True, kw_only=True)
class Trial:
    """One system, its namespace, and what is seen of it."""

    stand: Stand
    system: System
    client: Client
    view: View
    usages: dict[str, Usage] = field(default_factory=dict)
    """Of each of its processes, by the name of its user."""

    @property
    def namespace(self) -> str:
        """Where it works."""
        return self.view.namespace

    @property
    def operator(self) -> Usage:
        """What the operator itself costs."""
        return next(iter(self.usages.values()))

    @property
    def patience(self) -> float:
        """How long to wait for anything: the slowest makes ten pods a second."""
        return 60 + 0.25 * sum(self.view.sizes.values())

    @contextmanager
    def started(self, controllers: Sequence[str] = JOBS) -> Iterator[Running]:
        """With the system's processes; one after the other may run."""
        with self.system.start(self.stand, controllers) as running:
            self.usages = running.usages()
            yield running

    async def submit(self, sizes: dict[str, int], node: str = "") -> float:
        """Ask for jobs of these names and numbers of pods; when that began."""
        self.view.sizes |= sizes
        if self.system.raw:
            return await self._send(sizes, node)
        kind = self.system.kind
        path = kind.path(self.namespace)
        bodies: list[Request] = [("POST", path, kind.body(*it, node)) for it in sizes.items()]
        began = time.monotonic()
        await self.client.all(bodies, _SUBMITS)
        return began

    async def whole(self) -> float:
        """When all pods were there that were asked for."""
        wanted = sum(self.view.sizes.values())
        return await self.view.until(lambda: len(self.view.pods) >= wanted, self.patience)

    async def settled(self) -> None:
        """Wait until all services are there and nothing more is written."""
        services = self.system.kind.services
        wanted = 0 if self.system.raw else sum(map(services, self.view.sizes.values()))
        await self.view.until(lambda: len(self.view.services) >= wanted, self.patience)
        await self._quiet()

    async def _quiet(self) -> None:
        """Wait until the system has written nothing for a moment."""
        audit, deadline = self.stand.audit, time.monotonic() + self.patience
        before, since = -1, time.monotonic()
        while time.monotonic() < min(deadline, since + QUIET):
            audit.read()
            writes = audit.writes(self.usages)
            if writes != before:
                before, since = writes, time.monotonic()
            await asyncio.sleep(QUIET / 10)

    def begin(self) -> None:
        """Count from now on what it costs."""
        self.stand.audit.forget()
        for usage in self.usages.values():
            usage.begin()

    def cost(self) -> Figures:
        """What it has cost since then."""
        own, *others = self.usages.values()
        figures = {"cpu": own.seconds(), "peak": own.peak()}
        if others:
            figures["controllers cpu"] = sum(it.seconds() for it in others)
        return figures

    def requests(self) -> dict[str, int]:
        """What it has asked of the API server since then."""
        self.stand.audit.read()
        return self.stand.audit.of(self.usages)

    async def _send(self, sizes: dict[str, int], node: str) -> float:
        file = self.stand.folder / "orders"
        floor.write(file, self.namespace, sizes, node)
        reader, writer = await asyncio.open_unix_connection(self.stand.raw)
        writer.write(f"load {file}\n".encode())
        await reader.readline()
        began = time.monotonic()
        writer.write(b"go\n")
        await reader.readline()
        writer.close()
        return began


@asynccontextmanager
async def trial(stand: Stand, system: System) -> AsyncIterator[Trial]:
    """A new namespace that is watched; empty again afterwards."""
    name = f"bench-{next(_NUMBERS)}"
    async with stand.client() as client:
        await make_namespace(client, name)
        view = View(client, name, system.kind)
        follows = asyncio.create_task(view.follow())
        try:
            yield Trial(stand=stand, system=system, client=client, view=view)
        finally:
            follows.cancel()
            await asyncio.gather(follows, return_exceptions=True)
            await clean(client, name)


async def make_namespace(client: Client, name: str) -> None:
    """A namespace."""
    body: Json = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    await client.send("POST", "/api/v1/namespaces", body)


async def clean(client: Client, namespace: str) -> None:
    """Take all away that was made there: nobody collects garbage here."""
    pods = f"/api/v1/namespaces/{namespace}/pods"
    held = [it["metadata"] for it in await client.items(pods)]
    release: Json = {"metadata": {"finalizers": None}}
    await client.all(
        ("PATCH", f"{pods}/{it['name']}", release) for it in held if it.get("finalizers")
    )
    for kind in KINDS:
        await _empty(client, kind.path(namespace))
    await _empty(client, f"/apis/batch/v1/namespaces/{namespace}/jobs")
    for plural in ("pods", "services", "configmaps", "events"):
        await _empty(client, f"/api/v1/namespaces/{namespace}/{plural}")


async def _empty(client: Client, path: str) -> None:
    """Ten thousand at once take the API server longer than it gives a request."""
    while await client.items(f"{path}?limit=1"):
        with suppress(RuntimeError):
            await client.send("DELETE", f"{path}?gracePeriodSeconds=0&propagationPolicy=Background")


async def warm(work: Trial) -> None:
    """Let the system make one small job elsewhere first: no first request is measured."""
    async with trial(work.stand, work.system) as other:
        other.usages = work.usages
        await _first(other)
        made = await other.whole()
        if math.isnan(made):
            raise RuntimeError(f"{work.system.name} makes no pods")
        await other.settled()


async def at_rest(work: Trial, seconds: float = 60.0) -> Figures:
    """What the system does for so long while nothing changes."""
    work.begin()
    await asyncio.sleep(seconds)
    return {
        "cpu %": 100 * work.operator.seconds() / seconds,
        "requests a minute": sum(work.requests().values()) * 60 / seconds,
        "writes a minute": work.stand.audit.writes(work.usages) * 60 / seconds,
    }


async def _first(work: Trial) -> None:
    """The first job of a peer, which may answer before all of its webhooks are there."""
    for left in reversed(range(_TRIES)):
        refused: list[Exception] = []
        try:
            await work.submit({"warm": 2})
        except* RuntimeError as errors:
            refused += errors.exceptions
        if not refused:
            return
        if not left:
            raise refused[0]
        await asyncio.sleep(1)
