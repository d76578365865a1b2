"""Runs many cases at once against one API server, in a thread and an event loop of its own.

Cases that kill the operator get operators of their own, one case at a time; all others share
one operator and have a namespace each. A reference run of each scenario, without a fault, says
what the others must come to.
"""

import asyncio
import functools
import ssl
import threading
import time
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from faults.cases import Case
from faults.eye import Eye
from faults.lanes import Lane
from faults.laws import violations
from faults.outcome import differences, outcome
from faults.proxy import Place, Proxy
from faults.scenarios import SCENARIOS, play
from faults.scene import SECONDS, Scene, Stage, Stuck
from integration.server import ApiServer
from integration.test_gang import install
from trainingjobs.model.gang import Gang

QUIET_SECONDS = 1.0
SETTLE_SECONDS = 90.0
CASE_SECONDS = 600.0
WELL_SECONDS = 30
STARTS_AT_ONCE = 3
SHARED, KILLED, PATIENT = "shared", "killed", "patient"

Judge = Callable[[dict[str, Any]], list[str]]


@dataclass(slots=True)
class Result:
    """What a run came to."""

    outcome: dict[str, Any] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    fired: bool = True
    skipped: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Lanes:
    """How many cases run at once."""

    shared: int
    """By one operator, with a namespace each."""
    killed: int
    """By an operator each, which may be killed."""
    patient: int = 0
    """By an operator each, without permissions for long."""


class Engine:
    """The API server's proxy, eye and lanes; cases go in, results come out."""

    def __init__(self, server: ApiServer, folder: Path, seconds: float = 3600.0) -> None:
        self._server = server
        self._folder = folder
        self._seconds = seconds
        self._deadline = 0.0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._queues: dict[str, asyncio.Queue[tuple[Case, Future[Result]]]] = {}
        self._references: dict[str, asyncio.Task[Result]] = {}
        self._lanes: list[Lane] = []
        self._workers: list[asyncio.Task[None]] = []
        self._number = 0
        self._one = asyncio.Lock()

    def start(self, lanes: Lanes) -> None:
        """Start all operators."""
        self._thread.start()
        self._call(self._open(lanes))
        self._deadline = time.monotonic() + self._seconds

    def stop(self) -> None:
        """End all processes."""
        self._call(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def submit(self, cases: Iterable[Case]) -> dict[Case, Future[Result]]:
        """Run these cases, more or less in this order."""
        futures = {case: Future[Result]() for case in cases}
        self._loop.call_soon_threadsafe(self._enqueue, futures)
        return futures

    def reference(self, scenario: str) -> Result:
        """What a scenario comes to without a fault."""
        return self._call(self._reference(scenario))

    def forget(self, scenario: str) -> None:
        """Live it anew when it is asked for again."""
        self._loop.call_soon_threadsafe(self._references.pop, scenario, None)

    @property
    def ends(self) -> list[int]:
        """Exit codes of operators that ended by themselves."""
        return [code for lane in self._lanes for code in lane.ends]

    @property
    def starts(self) -> int:
        """How many operators were started."""
        return sum(lane.starts for lane in self._lanes)

    def _call(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _enqueue(self, futures: dict[Case, Future[Result]]) -> None:
        for case, future in futures.items():
            kind = PATIENT if case.long else KILLED if case.kills else SHARED
            self._queues[kind].put_nowait((case, future))

    async def _open(self, lanes: Lanes) -> None:
        await asyncio.to_thread(install, self._server, Gang.VOLCANO)
        tls = ssl.create_default_context(cafile=str(self._server.ca))
        self._proxy = Proxy(self._server.url, tls)
        await self._proxy.start()
        self._session = aiohttp.ClientSession(
            self._server.url,
            headers={"Authorization": f"Bearer {self._server.token}"},
            connector=aiohttp.TCPConnector(limit=0, ssl=tls),
            timeout=aiohttp.ClientTimeout(total=None),
            read_bufsize=2**20,
        )
        self._eye = Eye(self._session)
        await self._eye.open()
        self._queues = {kind: asyncio.Queue() for kind in (SHARED, KILLED, PATIENT)}
        self._lanes = [self._lane(SHARED, lanes.shared + 1)]
        for kind, count in ((KILLED, lanes.killed), (PATIENT, lanes.patient)):
            self._lanes += [self._lane(f"{kind}-{number}", 1) for number in range(count)]
        self._proxy.on_watch = self._watched
        await self._open_lanes()
        self._spare = self._lanes[0].places[-1]
        for lane in self._lanes:
            queue = self._queues[lane.name.partition("-")[0]]
            for place in lane.places:
                if place is not self._spare:
                    self._workers.append(asyncio.create_task(self._work(queue, lane, place)))

    async def _open_lanes(self) -> None:
        """A few at a time, since a start takes seconds of a core."""
        gate = asyncio.Semaphore(STARTS_AT_ONCE)

        async def one(lane: Lane) -> None:
            async with gate:
                await lane.open(self._proxy, self._server)

        await asyncio.gather(*(one(lane) for lane in self._lanes))

    def _lane(self, name: str, places: int) -> Lane:
        named = [Place(f"faults-{name}-{number}") for number in range(places)]
        return Lane(name, named, self._folder / name, "http://nobody.test/api/v1/reports")

    def _watched(self, namespace: str, plural: str) -> None:
        for lane in self._lanes:
            if any(place.namespace == namespace for place in lane.places):
                lane.watched(namespace, plural)

    async def _close(self) -> None:
        for worker in self._workers:
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)
        for lane in self._lanes:
            await lane.close()
        await self._eye.close()
        await self._session.close()
        await self._proxy.stop()

    async def _work(
        self, queue: "asyncio.Queue[tuple[Case, Future[Result]]]", lane: Lane, place: Place
    ) -> None:
        while True:
            case, future = await queue.get()
            late = time.monotonic() + (case.seconds if case.long else 0)
            if late > self._deadline:
                future.set_result(Result(skipped="no time was left"))
                continue
            try:
                async with asyncio.timeout(CASE_SECONDS + case.seconds):
                    future.set_result(await self._case(case, lane, place))
            except Exception as error:  # noqa: BLE001 - it is the test's, in another thread
                future.set_exception(error)

    async def _case(self, case: Case, lane: Lane, place: Place) -> Result:
        if case.refuses_a_template:
            judge: Judge = _refused
        else:
            expected = (await self._reference(case.scenario)).outcome
            judge = functools.partial(differences, expected)
        result = await self._run(case.scenario, lane, place, case, judge)
        if case.long:
            result.problems += await self._ill(lane)
        if not result.fired:
            result.skipped = f"this run did not come to {case.at}"
        if result.problems:
            result.problems.append(lane.log(place.job))
        return result

    async def _ill(self, lane: Lane) -> list[str]:
        """What the operator still complains of when it has had time to recover."""
        words = "never asked"
        for _ in range(WELL_SECONDS):
            words = await lane.complaints(self._session)
            if not words:
                return []
            await asyncio.sleep(1)
        return [f"the operator is not well again: {words}"]

    async def _reference(self, scenario: str) -> Result:
        """Each scenario is run once without a fault, one after the other."""
        if scenario not in self._references:
            self._references[scenario] = asyncio.create_task(self._undisturbed(scenario))
        return await self._references[scenario]

    async def _undisturbed(self, scenario: str) -> Result:
        async with self._one:
            return await self._run(scenario, self._lanes[0], self._spare)

    async def _run(
        self,
        name: str,
        lane: Lane,
        place: Place,
        case: Case | None = None,
        judge: Judge = lambda _: [],
    ) -> Result:
        self._number += 1
        scenario, job = SCENARIOS[name], f"c{self._number:05}"
        away = case.seconds if case and case.long else 0
        scene = Scene(place.namespace, job, patience=SECONDS + away)
        stage = Stage(self._session, scene, scenario.whole_spec)
        result, ends, began = Result(), len(lane.ends), time.monotonic()
        if case is None:
            place.begin(job)
        else:
            place.begin(job, case.at, case.fault, case.seconds)
        self._eye.follow(stage)
        try:
            await play(scenario, stage)
            await _settle(scene, judge, SETTLE_SECONDS + away)
        except (Stuck, AssertionError) as error:
            result.problems.append(str(error))
        result.outcome = outcome(scene)
        result.problems += judge(result.outcome)
        result.problems += violations(scene.story, stage.spec, scene.taken)
        result.problems += [f"the operator ended with {code}" for code in lane.ends[ends:]]
        result.fired = place.fired or case is None
        result.writes, result.events = [*place.writes], [*place.events]
        result.seconds = time.monotonic() - began
        self._eye.leave(scene)
        await stage.clear()
        return result


async def _settle(scene: Scene, judge: Judge, seconds: float) -> None:
    """Give it time to come to the right end, and then time to leave it again."""
    with suppress(Stuck):
        await scene.until("the right end", lambda: not judge(outcome(scene)), seconds)
    await scene.quiet(QUIET_SECONDS)


def _refused(found: dict[str, Any]) -> list[str]:
    """A template that can never be made ends the job, with that reason and nothing left alive."""
    reason = found["conditions"].get("Failed")
    living = [pod for pod in found["pods"] if pod[2] not in {"Succeeded", "Failed"}]
    if reason == ("True", "InvalidTemplate") and not living:
        return []
    return [f"a refused template must end the job: Failed is {reason}, alive are {living}"]
