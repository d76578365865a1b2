"""What Prometheus is told: the names of the document, zeros first, nothing of what is gone."""

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from builders import NOW, a_body, at
from status.given import STANDS, a_finding, healthy, told
from trainingjobs.cluster.status import written
from trainingjobs.cluster.store import Store
from trainingjobs.handlers.metrics import Metrics
from trainingjobs.handlers.tallies import Tallies
from trainingjobs.model.finding import Kind
from trainingjobs.model.status import Phase, Status
from trainingjobs.status import goodput

DOCUMENT = Path(__file__).parents[2] / "docs" / "metrics.md"
ROW = re.compile(r"^\| `(\w+)` \| (\w+) \|([^|]*)\|", re.MULTILINE)
ME = {"namespace": "lab", "trainingjob": "mnist"}
BUSY = written(
    told(healthy(stalled=STANDS, findings=(a_finding(), a_finding(Kind.UNSHARDED)))).model_copy(
        update={"restarts": 2, "disruptions": 1, "attempt": 4}
    )
)


class Place:
    """A store, what Prometheus reads of it, and a time a minute later."""

    def __init__(self) -> None:
        self.store = Store(lambda: NOW)
        self.metrics = Metrics(self.store, lambda: at(60))
        Tallies(self.metrics.registry, lambda: 0)

    def put(self, name: str = "mnist", status: Any = None, version: str = "10") -> Any:
        """A job with this status."""
        body = a_body(name=name)
        body["metadata"] |= {"uid": name, "resourceVersion": version}
        body["status"] = status
        self.store.put_job(body)
        return body

    def families(self) -> Iterator[Any]:
        """All that is told."""
        text = (self.metrics.text() + self.metrics.text_of_jobs()).decode()
        return text_string_to_metric_families(text)

    def values(self, name: str, **labels: str) -> dict[tuple[str, ...], float]:
        """The values of one series, by the labels that are not named."""
        samples = [it for family in self.families() for it in family.samples if it.name == name]
        wanted = [it for it in samples if labels.items() <= it.labels.items()]
        rest = [{**it.labels} for it in wanted]
        for each in rest:
            for label in labels:
                del each[label]
        return {tuple(it.values()): sample.value for it, sample in zip(rest, wanted, strict=True)}


@pytest.fixture
def place() -> Place:
    return Place()


def test_the_document_lists_what_is_told(place: Place) -> None:
    place.put()
    rows = {name: (kind, labels) for name, kind, labels in ROW.findall(DOCUMENT.read_text())}
    found = {}
    for family in place.families():
        name = f"{family.name}_total" if family.type == "counter" else family.name
        labels = {label for it in family.samples for label in it.labels} - {*ME, "le"}
        found[name] = family.type, labels
    assert {name: kind for name, (kind, _) in found.items()} == {
        name: kind for name, (kind, _) in rows.items()
    }
    for name, (_, labels) in found.items():
        assert labels == set(re.findall(r"\w+", rows[name][1])), name


def test_a_job_that_nobody_looked_at_has_all_its_series(place: Place) -> None:
    place.put()
    for name in ("restarts_total", "disruptions_total", "step", "stalled", "steps_per_second"):
        assert place.values(f"trainingjob_{name}", **ME) == {(): 0}
    assert place.values("trainingjob_instances", **ME) == {(): 3}
    phases = {(phase.value,): float(phase is Phase.PENDING) for phase in Phase}
    assert place.values("trainingjob_phase", **ME) == phases
    assert place.values("trainingjob_findings", **ME) == {(kind.value,): 0 for kind in Kind}
    states = {(state,): 0 for state in goodput.STATES}
    assert place.values("trainingjob_goodput_seconds_total", **ME) == states


def test_what_is_told_of_a_job(place: Place) -> None:
    place.put(status=BUSY)
    told = {
        "instances_ready": 3,
        "attempt": 4,
        "restarts_total": 2,
        "disruptions_total": 1,
        "step": 20,
        "steps_planned": 50,
        "steps_per_second": 0,
        "stalled": 1,
    }
    assert {name: place.values(f"trainingjob_{name}", **ME)[()] for name in told} == told
    found = place.values("trainingjob_findings", **ME)
    assert {kind for (kind,), count in found.items() if count} == {"Stalled", "DataNotSharded"}
    spent = place.values("trainingjob_goodput_seconds_total", **ME)
    assert spent[("stalled",)] == 60, "up to now, though the status was written a minute ago"


def test_a_rate_is_told_while_the_group_steps(place: Place) -> None:
    place.put(status=written(told(healthy())))
    assert place.values("trainingjob_steps_per_second", **ME) == {(): 2}


def test_the_series_of_a_job_go_with_it(place: Place) -> None:
    body = place.put(status=BUSY)
    place.store.drop_job(body)
    assert not [it for it in place.metrics.of_jobs.collect() if it.samples]


def test_a_status_that_cannot_be_read_hides_no_other_job(place: Place) -> None:
    place.put("odd", status={"restarts": "many"})
    place.put(status=BUSY)
    assert place.values("trainingjob_restarts_total") == {("lab", "odd"): 0, ("lab", "mnist"): 2}


def test_a_thousand_jobs_are_told_in_time(place: Place) -> None:
    """0.3 s; under coverage on a busy machine 5 s were seen."""
    for number in range(1000):
        place.put(f"job-{number}", status=BUSY)
    started = time.process_time()
    text = place.metrics.text_of_jobs()
    assert time.process_time() - started < 15
    assert text.count(b"\n") < 32_000


def test_a_status_reads_back_as_it_was_written() -> None:
    assert written(Status.model_validate(BUSY)) == BUSY
