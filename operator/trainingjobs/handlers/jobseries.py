"""What Prometheus is told of each job: read from the jobs themselves when somebody asks.

Nothing is counted on the way, so no look at a job is slower for it, an operator that starts anew
goes on with the same numbers, and the series of a job that is gone are gone with it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector
from pydantic import ValidationError

from trainingjobs.cluster.store import Manifest, Store
from trainingjobs.model.finding import Kind
from trainingjobs.model.status import Phase, Status
from trainingjobs.status import conditions, goodput

PREFIX = "trainingjob"
LABELS = ("namespace", "trainingjob")

Family = GaugeMetricFamily | CounterMetricFamily
Values = dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One job at the moment of asking."""

    namespace: str
    name: str
    asked: int
    status: Status
    now: datetime

    @property
    def phase(self) -> Phase:
        """A job that nobody has looked at yet counts as pending."""
        return self.status.phase or Phase.PENDING


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One number of each job."""

    name: str
    text: str
    value: Callable[[Job], float]
    counts: bool = False

    def family(self) -> Family:
        """The family, still empty."""
        kind = CounterMetricFamily if self.counts else GaugeMetricFamily
        return kind(f"{PREFIX}_{self.name}", self.text, labels=LABELS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Several numbers of each job, told apart by one label more."""

    name: str
    text: str
    label: str
    values: Callable[[Job], Values]
    counts: bool = False

    def family(self) -> Family:
        """The family, still empty."""
        kind = CounterMetricFamily if self.counts else GaugeMetricFamily
        return kind(f"{PREFIX}_{self.name}", self.text, labels=(*LABELS, self.label))


def _phases(job: Job) -> Values:
    return {phase.value: float(phase is job.phase) for phase in Phase}


def _findings(job: Job) -> Values:
    told = [found.type for found in job.status.findings]
    return {kind.value: float(told.count(kind.value)) for kind in Kind}


def _seconds(job: Job) -> Values:
    spent = goodput.seconds(goodput.until(job.status, job.now))
    return {state: float(seconds) for state, seconds in spent.items()}


def _rate(job: Job) -> float:
    training = job.status.training
    return float((training and training.steps_per_second) or 0)


SERIES = (
    Series(name="instances", text="Instances that the job asks for.", value=lambda job: job.asked),
    Series(
        name="instances_ready",
        text="Instances that run or have succeeded.",
        value=lambda job: job.status.instances.running + job.status.instances.succeeded,
    ),
    Series(name="attempt", text="The attempt that runs.", value=lambda job: job.status.attempt),
    Series(
        name="restarts",
        text="Restarts charged to maxRestarts.",
        value=lambda job: job.status.restarts,
        counts=True,
    ),
    Series(
        name="disruptions",
        text="Restarts that the cluster caused.",
        value=lambda job: job.status.disruptions,
        counts=True,
    ),
    Series(
        name="step",
        text="The step that all ranks have done.",
        value=lambda job: job.status.training.step if job.status.training else 0,
    ),
    Series(
        name="steps_planned",
        text="Steps of the whole training; 0 where the script does not tell.",
        value=lambda job: (job.status.training and job.status.training.total_steps) or 0,
    ),
    Series(
        name="steps_per_second",
        text="Steps per second of the group; 0 while it stalls and after its end.",
        value=_rate,
    ),
    Series(
        name="stalled",
        text="1 while the condition Stalled is True.",
        value=lambda job: conditions.holds(job.status.conditions, conditions.STALLED),
    ),
)
SPREADS = (
    Spread(
        name="phase", text="1 for the job's phase, 0 for the others.", label="phase", values=_phases
    ),
    Spread(
        name="findings",
        text="What the roll call finds wrong, by kind.",
        label="kind",
        values=_findings,
    ),
    Spread(
        name="goodput_seconds",
        text="Where the time went: queued, starting, training, stalled, lost.",
        label="state",
        values=_seconds,
        counts=True,
    ),
)


class JobSeries(Collector):
    """Reads all jobs when somebody asks, and keeps no numbers of its own."""

    def __init__(self, store: Store, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._clock = clock

    def collect(self) -> Iterator[Family]:
        """All families; those of no job are empty."""
        now = self._clock()
        jobs = [_job(body, now) for body in self._store.jobs()]
        for series in SERIES:
            family = series.family()
            for job in jobs:
                family.add_metric((job.namespace, job.name), series.value(job))
            yield family
        for spread in SPREADS:
            family = spread.family()
            for job in jobs:
                for word, value in spread.values(job).items():
                    family.add_metric((job.namespace, job.name, word), value)
            yield family


def _job(body: Manifest, now: datetime) -> Job:
    metadata = body["metadata"]
    asked = body.get("spec", {}).get("PARALLEL_INSTANCES")
    return Job(
        namespace=metadata["namespace"],
        name=metadata["name"],
        asked=asked if isinstance(asked, int) else 0,
        status=_status(body),
        now=now,
    )


def _status(body: Manifest) -> Status:
    """What the job says; a status that cannot be read says nothing."""
    try:
        return Status.model_validate(body.get("status") or {})
    except ValidationError:
        return Status()
