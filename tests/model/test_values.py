"""Small values: sets of ranks, quantities, times, the parsed job."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import a_body, a_job
from trainingjobs.model import containers, ranks
from trainingjobs.model.job import Invalid, TrainingJob, parse
from trainingjobs.model.quantity import number
from trainingjobs.model.text import cut, printable
from trainingjobs.model.times import parse_time, write_time


@given(st.frozensets(st.integers(min_value=0, max_value=60)))
def test_a_set_of_ranks_survives_its_text(some: frozenset[int]) -> None:
    assert ranks.expand(ranks.compact(some)) == some


@pytest.mark.parametrize(
    ("some", "text"), [(set(), ""), ({4}, "4"), ({0, 2, 3, 4, 9}, "0,2-4,9"), ({1, 0}, "0-1")]
)
def test_ranks_are_written_as_people_write_them(some: set[int], text: str) -> None:
    assert ranks.compact(some) == text


@pytest.mark.parametrize(
    ("quantity", "value"), [("500m", 0.5), (2, 2), ("1k", 1000), ("0.1", 0.1), ("many", 0)]
)
def test_quantities(quantity: Any, value: float) -> None:
    assert float(number(quantity)) == value


def test_times_are_utc_and_whole_seconds() -> None:
    time = datetime(2026, 3, 1, 13, 0, 0, 999, tzinfo=timezone(timedelta(hours=1)))
    assert write_time(time) == "2026-03-01T12:00:00Z"
    assert parse_time("2026-03-01T12:00:00Z") == datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert parse_time(None) is None


def test_a_job_is_parsed_with_its_defaults() -> None:
    job = a_job(4)
    assert (job.size, job.key, job.attempt, job.ours) == (4, ("lab", "mnist"), 1, True)
    assert (job.spec.max_restarts, job.spec.port) == (3, 29500)


def test_all_that_is_wrong_is_told_with_its_path() -> None:
    body = a_body(0, maxRestarts=-1)
    wrong = parse(body)
    assert isinstance(wrong, Invalid)
    assert "spec.PARALLEL_INSTANCES" in str(wrong)
    assert "spec.maxRestarts" in str(wrong)


@pytest.mark.parametrize("limits", [{"cpu": "1000000"}, {"nvidia.com/gpu": 9000}])
@pytest.mark.parametrize("size", [{}, {"elastic": {"minInstances": 1, "maxInstances": 100}}])
def test_more_ranks_than_anybody_can_look_at_are_refused(size: Any, limits: Any) -> None:
    """The API server counts what is a number; `auto` is counted here."""
    template = {"spec": {"containers": [{"name": "trainer", "resources": {"limits": limits}}]}}
    wrong = parse(a_body(8, template=template, processesPerInstance="auto", **size))
    assert isinstance(wrong, Invalid)
    assert "65536 are the most" in str(wrong)


def test_a_broken_status_is_told_as_such() -> None:
    body = a_body() | {"status": {"restarts": -1}}
    wrong = parse(body)
    assert isinstance(wrong, Invalid)
    assert str(wrong).startswith("status.restarts")


def test_fields_of_a_newer_version_are_no_error() -> None:
    assert isinstance(parse(a_body(fromTheFuture=1)), TrainingJob)


@pytest.mark.parametrize(
    ("managed_by", "ours"), [(None, True), ("trainingjob.dev/operator", True), ("kueue", False)]
)
def test_whose_job_it_is(managed_by: str | None, ours: bool) -> None:
    assert a_job(managedBy=managed_by).ours is ours


def test_the_training_container_is_the_named_one_else_the_first() -> None:
    first: dict[str, Any] = {"name": "first"}
    named: dict[str, Any] = {"name": "trainer"}
    assert containers.trainer({"spec": {"containers": [first, named]}}) is named
    assert containers.trainer({"spec": {"containers": [first]}}) is first


@pytest.mark.parametrize(
    ("limits", "gpus", "cpus"),
    [
        ({}, 0, 0),
        ({"cpu": "3500m"}, 0, 3),
        ({"nvidia.com/gpu": "4", "cpu": 8}, 4, 8),
        ({"amd.com/gpu": 2}, 2, 0),
        ({"nvidia.com/mig-1g.10gb": 3}, 3, 0),
    ],
)
def test_devices_are_counted_from_the_limits(limits: dict[str, Any], gpus: int, cpus: int) -> None:
    template = {"spec": {"containers": [{"name": "trainer", "resources": {"limits": limits}}]}}
    assert (containers.gpus(template), containers.cpus(template)) == (gpus, cpus)


@given(st.text(), st.integers(min_value=1, max_value=80))
def test_text_for_people_is_one_short_line_of_what_can_be_seen(text: str, limit: int) -> None:
    assert cut(text, limit).isprintable()
    assert len(cut(text, limit)) <= limit
    assert len(printable(text)) == len(text)
    assert printable(text).isprintable()


def test_what_can_be_seen_stays_as_it_is() -> None:
    words = "Größe 大小 🙂 <b>&amp;</b>"
    assert printable(words) == words
    assert printable("a\tb\nc\u00a0d\u2028e") == "a b c d e"
    assert printable("\x1b\x9b\u202e\u200d\U000e0041\ud800") == "�" * 6
