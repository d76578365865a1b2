"""Puts the operator together and runs it until somebody or something ends it."""

import asyncio
import logging
import time
from datetime import UTC, datetime
from typing import Any

import kopf

from trainingjobs.cluster.api import Api
from trainingjobs.cluster.apply import Applier
from trainingjobs.cluster.events import Recorder
from trainingjobs.cluster.observe import Sweep
from trainingjobs.cluster.rbac import FOR_OTHERS
from trainingjobs.cluster.rolls import Rolls
from trainingjobs.cluster.status import Writer
from trainingjobs.cluster.store import Key, Store
from trainingjobs.handlers import definition, endurance, office, process, telling, vigil
from trainingjobs.handlers.health import Ear, Health
from trainingjobs.handlers.metrics import RESULTS, Metrics, is_new, phase_of
from trainingjobs.handlers.office import Candidacy, Office
from trainingjobs.handlers.probes import Probes
from trainingjobs.handlers.reporter import site
from trainingjobs.handlers.resync import Resync
from trainingjobs.handlers.rollcall import Parts, RollCall
from trainingjobs.handlers.watch import Doorbells
from trainingjobs.handlers.workqueue import Queue
from trainingjobs.reconcile import Hands, Reconciler
from trainingjobs.settings import Settings

_LOG = logging.getLogger(__name__)
_AGAIN_SECONDS = 5.0


class Program:
    """One operator: its parts, and the order in which they start and stop."""

    def __init__(self, settings: Settings, api: Api, stands: Candidacy | None = None) -> None:
        self._settings = settings
        self._api = api
        self._instance: Any = office.instance()
        self._store = Store(_now)
        self._rolls = Rolls(_now, settings.report_rate)
        self._ear = Ear()
        self._health = Health(time.monotonic)
        self.metrics = Metrics(self._store)
        hands = self._hands()
        self._reconciler = Reconciler(hands, site(settings))
        self._queue: Queue[Key] = Queue(self._look, new=lambda key: is_new(self._store.job(key)))
        self._resync = self._lists()
        self._office = self._duties(hands, stands)
        self._probes = Probes(self._health, self.metrics, self._office.leader)
        self._roll_call = self._listens()
        self._served = asyncio.Event()
        self._stop = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._vigil = vigil.Vigil(self._health, self._stop.set)
        api.on_answer = self._answered
        self._health.checks |= {
            "watch": self._deaf,
            "queue": self._stuck,
            "lists": self._health.rounds.missed,
            "tasks": self._dead,
            "roll call": self._roll_call.silent,
        }
        self.metrics.depth.set_function(lambda: self._queue.depth)
        self.metrics.leads, self._health.stands = self._office.leads, self._office.answers
        self.metrics.ready.set_function(lambda: self._health.ready)

    async def run(self, own: kopf.OperatorSettings, info: kopf.ConnectionInfo) -> int:
        """Serve until told to stop; the exit code of the process.

        Raises:
            OSError: when the port is taken.
        """
        await self._probes.start(self._settings.port)
        if self._settings.report_url:
            await self._roll_call.start(self._settings.report_port)
        # what is started before kopf is left alone by it when it stops
        work = (self._keep_true(), self._vigil.keep(), *self._office.work(self._served))
        self._tasks = [vigil.started(it) for it in work]
        try:
            await kopf.operator(
                registry=self._registry(info),
                settings=own,
                standalone=True,
                clusterwide=not self._settings.namespaces,
                namespaces=self._settings.namespaces,
                identity=self._instance,
                stop_flag=self._stop,
            )
        finally:
            await self._shut_down()
        return int(self._vigil.hopeless)

    def _wake(self, key: Key) -> None:
        self._office.wake(key)

    def _leads(self) -> bool:
        return self._office.leads()

    def _duties(self, hands: Hands, stands: Candidacy | None) -> Office:
        return Office(
            queue=self._queue,
            store=self._store,
            rolls=self._rolls,
            recorder=hands.recorder,
            notifier=self._notifier,
            progress=self._health.progress,
            resync=self._resync,
            stands=stands,
        )

    def _hands(self) -> Hands:
        settings = self._settings
        recorder = Recorder(self._api, _now, self._instance)
        self._notifier = telling.notifier(settings, self._api, recorder, self._wake, self._leads)
        return Hands(
            store=self._store,
            applier=Applier(self._api, self._store, settings.parallel_writes),
            writer=Writer(self._api, self._store),
            recorder=recorder,
            rolls=self._rolls,
            notifier=self._notifier,
        )

    def _listens(self) -> RollCall:
        parts = Parts(
            api=self._api,
            store=self._store,
            rolls=self._rolls,
            registry=self.metrics.registry,
            wake=self._wake,
            ready=self._knows,
            leads=self._office.leads,
            leader=self._office.leader,
            rate=self._settings.report_rate,
            api_tokens=self._settings.api_tokens,
        )
        return RollCall(parts)

    def _knows(self, namespace: str) -> bool:
        """True when a pod that is unknown there is none of ours."""
        served = self._settings.namespaces
        elsewhere = bool(served) and namespace not in served
        known = elsewhere or self._resync.sweep.sees(namespace)
        return self._served.is_set() and self._office.leads() and known

    async def _keep_true(self) -> None:
        """Keep the store in line with the API server, from the first list on."""
        await self._served.wait()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._resync.list_jobs())
            group.create_task(self._resync.sweep_children())

    def _lists(self) -> Resync:
        namespaces, wake = self._settings.namespaces, self._wake
        return Resync(
            api=self._api,
            store=self._store,
            ear=self._ear,
            health=self._health,
            wake=wake,
            namespaces=namespaces,
            sweep=Sweep(api=self._api, store=self._store, wake=wake, namespaces=namespaces),
            sweep_seconds=self._settings.resync_seconds,
        )

    def _registry(self, info: kopf.ConnectionInfo) -> kopf.OperatorRegistry:
        registry = kopf.OperatorRegistry()
        bells = Doorbells(store=self._store, ear=self._ear, wake=self._wake)
        endurance.install(self._resync.lapsed, self._health.rounds.expect, bells.takes)
        endurance.go_on(self._resync.sweep.listed)
        bells.hang(registry)

        @kopf.on.login(registry=registry)
        def login(settings: kopf.OperatorSettings, **_: Any) -> kopf.ConnectionInfo:
            return process.login(settings)

        @kopf.on.startup(registry=registry)
        async def startup(**_: Any) -> None:
            _LOG.info("talking to %s", info.server)
            with vigil.waiting("the API server to know TrainingJobs"):
                await definition.until_served(self._api)
            await self._office.prepare()
            with vigil.waiting("the first lists of jobs, pods and services"):
                await self._resync.begin()
            self._served.set()
            _LOG.info("ready: %d jobs are known", len(list(self._store.jobs())))

        @kopf.on.cleanup(registry=registry)
        async def cleanup(**_: Any) -> None:
            self._vigil.farewell()
            await self._shut_down()

        return registry

    async def _look(self, key: Key) -> float | None:
        # nothing is decided before everything that is there has been listed once
        await self._served.wait()
        if not self._resync.sweep.sees(key[0]):
            return _AGAIN_SECONDS
        before, started = phase_of(self._store.job(key)), time.perf_counter()
        outcome = "error"
        try:
            when = await self._reconciler.reconcile(key)
            outcome = "success"
        finally:
            self._health.progress.made()
            self.metrics.reconciles.labels(outcome).inc()
            self.metrics.seconds.observe(time.perf_counter() - started)
        after = phase_of(self._store.job(key))
        if after in RESULTS and before not in RESULTS:
            self.metrics.finished.labels(after).inc()
        return None if when is None else max((when - _now()).total_seconds(), 0.0)

    def _deaf(self) -> str | None:
        return "it does not tell of jobs that the API server lists" if self._ear.deaf else None

    def _stuck(self) -> str | None:
        if self._office.serves and not self._queue.alive:
            return "a worker has ended"
        return self._health.progress.stuck(self._queue.longest_wait)

    def _dead(self) -> str | None:
        ended = any(task.done() for task in self._tasks)
        return "a background task has ended" if ended and not self._stop.is_set() else None

    def _answered(self, verb: str, resource: str, code: int) -> None:
        self.metrics.request(verb, resource, code)
        if resource not in FOR_OTHERS:
            self._health.progress.answered(verb)

    async def _shut_down(self) -> None:
        # kopf leaves its own waiter for this flag hanging, and then waits for it
        self._stop.set()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._queue.stop()
        await self._notifier.stop()
        await self._office.release()
        await self._roll_call.stop()
        await self._probes.stop()


def _now() -> datetime:
    return datetime.now(UTC)
