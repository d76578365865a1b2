"""The series that Prometheus is told, by asking an operator that knows one job."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from trainingjobs.cluster.store import Store
from trainingjobs.handlers import jobseries
from trainingjobs.handlers.metrics import PREFIX, Metrics
from trainingjobs.handlers.tallies import Tallies

_MADE_BY_PROMETHEUS = {"le"}
_OF_THE_SERVICE = f"{PREFIX}_rollcall"
_SOME_TIME = datetime(2026, 1, 1, tzinfo=UTC)
_JOB = {"metadata": {"namespace": "lab", "name": "mnist", "uid": "uid", "resourceVersion": "1"}}
_TITLES = ("Of each job", "Of the operator", "Of the roll call's service")


def tables() -> str:
    """All series with type, labels and help, in three tables."""
    rows: Mapping[str, list[str]] = {title: [] for title in _TITLES}
    for family in families():
        rows[_title(family.name)].append(_row(family))
    head = "| name | type | labels | tells |\n|---|---|---|---|\n"
    return "\n".join(f"### {title}\n\n{head}{''.join(found)}" for title, found in rows.items())


def families() -> Iterator[Metric]:
    """What a leader with one job tells."""
    store = Store(lambda: _SOME_TIME)
    store.put_job(_JOB)
    metrics = Metrics(store, lambda: _SOME_TIME)
    Tallies(metrics.registry, lambda: 0)
    text = (metrics.text() + metrics.text_of_jobs()).decode()
    yield from text_string_to_metric_families(text)


def _title(name: str) -> str:
    of_job, of_operator, of_service = _TITLES
    if name.startswith(_OF_THE_SERVICE):
        return of_service
    return of_operator if name.startswith(PREFIX) else of_job


def _row(family: Metric) -> str:
    name = f"{family.name}_total" if family.type == "counter" else family.name
    told = dict.fromkeys(label for sample in family.samples for label in sample.labels)
    own = [it for it in told if it not in {*jobseries.LABELS, *_MADE_BY_PROMETHEUS}]
    labels = ", ".join(f"`{label}`" for label in own)
    return f"| `{name}` | {family.type} | {labels} | {family.documentation.rstrip('.')} |\n"
