"""What the operator counts about itself: every series exists from the start.

A series that appears with its first error cannot be alerted on. What is told of each job is read
from the jobs (`jobseries`) and kept apart, since a thousand of them take a while to write down.
"""

from collections import Counter as Tally
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import prometheus_client as prometheus
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from trainingjobs.cluster.rbac import LEADING, READING, REVIEWS, RULES
from trainingjobs.cluster.store import Manifest, Store
from trainingjobs.handlers.jobseries import JobSeries
from trainingjobs.model.status import Phase

PREFIX = "trainingjob_operator"
OUTCOMES = ("success", "error")
RESULTS = (Phase.SUCCEEDED.value, Phase.FAILED.value)
_CREATED = "201"
_OK = "200"
_NOT_SENT = {"watch", "update"}
"""Kopf watches, and an update of finalizers is what owning with blockOwnerDeletion counts as."""


class Metrics:
    """One process's counters, in a registry of their own."""

    def __init__(self, store: Store, clock: Callable[[], datetime] | None = None) -> None:
        prometheus.disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = prometheus.CollectorRegistry()
        self.reconciles = prometheus.Counter(
            f"{PREFIX}_reconciles",
            "Looks at a job, by outcome.",
            ["outcome"],
            registry=self.registry,
        )
        self.seconds = prometheus.Histogram(
            f"{PREFIX}_reconcile_seconds",
            "How long a look at a job took, with all its requests.",
            buckets=(0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60),
            registry=self.registry,
        )
        self.depth = self._gauge("queue_depth", "Jobs that wait for a worker.")
        self.ready = self._gauge(
            "ready", "1 once all jobs were listed and are followed, on a standby too."
        )
        self.leader = self._gauge(
            "leader", "1 on the replica that leads; a standby tells nothing of jobs."
        )
        self.leads: Callable[[], bool] = lambda: True
        self.leader.set_function(self.leading)
        self.requests = prometheus.Counter(
            f"{PREFIX}_api_requests",
            "Requests to the API server; code 0 is one without an answer.",
            ["verb", "resource", "code"],
            registry=self.registry,
        )
        self.finished = prometheus.Counter(
            f"{PREFIX}_jobs_finished",
            "Jobs that were seen to finish, by result.",
            ["result"],
            registry=self.registry,
        )
        self.registry.register(_Jobs(store, self.leading))
        self.of_jobs = prometheus.CollectorRegistry()
        self.of_jobs.register(JobSeries(store, clock or _now))
        self._begin_at_zero()

    def _gauge(self, name: str, text: str) -> prometheus.Gauge:
        return prometheus.Gauge(f"{PREFIX}_{name}", text, registry=self.registry)

    def leading(self) -> bool:
        """True on the replica that tells of jobs."""
        return self.leads()

    def request(self, verb: str, resource: str, code: int) -> None:
        """Count one request to the API server."""
        self.requests.labels(verb, resource, str(code)).inc()

    def text(self) -> bytes:
        """All series of the operator itself in the format that Prometheus reads."""
        return prometheus.generate_latest(self.registry)

    def text_of_jobs(self) -> bytes:
        """All series of the jobs; it takes 0.3 s for a thousand, and may be called in a thread."""
        return prometheus.generate_latest(self.of_jobs) if self.leads() else b""

    def _begin_at_zero(self) -> None:
        for outcome in OUTCOMES:
            self.reconciles.labels(outcome)
        for result in RESULTS:
            self.finished.labels(result)
        for rule in (*RULES, *REVIEWS, *READING, *LEADING):
            for verb in set(rule.verbs) - _NOT_SENT:
                self.requests.labels(verb, rule.resource, _CREATED if verb == "create" else _OK)


class _Jobs(Collector):
    """Counts the jobs by phase when somebody asks, and keeps no numbers of its own."""

    def __init__(self, store: Store, leads: Callable[[], bool]) -> None:
        self._store = store
        self._leads = leads

    def collect(self) -> Iterator[GaugeMetricFamily]:
        tally = Tally(phase_of(body) for body in self._store.jobs())
        family = GaugeMetricFamily(f"{PREFIX}_jobs", "Jobs by phase.", labels=["phase"])
        for phase in Phase if self._leads() else ():
            family.add_metric([phase.value], tally[phase.value])
        yield family


def phase_of(body: Manifest | None) -> str:
    """The phase on a job's body; a job without a status yet counts as pending."""
    status = (body or {}).get("status") or {}
    return str(status.get("phase") or Phase.PENDING.value)


def is_new(body: Manifest | None) -> bool:
    """True for a job that nothing was made or told of yet."""
    return body is not None and not body.get("status")


def _now() -> datetime:
    return datetime.now(UTC)
