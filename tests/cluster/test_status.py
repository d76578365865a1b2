"""The status is written once, when it differs, and never over a newer change."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builders import NOW, a_body, at
from cluster.fakeapi import FakeApi, merged
from trainingjobs.cluster.errors import ApiError
from trainingjobs.cluster.status import Writer, difference, only_words, same, written
from trainingjobs.cluster.store import Store
from trainingjobs.model.job import TrainingJob, parse
from trainingjobs.model.status import Condition, Failure, Instances, Phase, Status

PATH = "/apis/trainingjob.dev/v1/namespaces/lab/trainingjobs/mnist"
JSON = st.recursive(
    st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=3),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
)
OBJECTS = st.dictionaries(st.sampled_from("abc"), JSON, max_size=3)


def condition(**changes: str) -> Condition:
    """A condition that does not hold."""
    plain = {
        "type": "Running",
        "status": "False",
        "reason": "Waiting",
        "lastTransitionTime": "2026-03-01T12:00:00Z",
    }
    return Condition.model_validate({**plain, **changes})


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(OBJECTS, OBJECTS)
def test_the_difference_leads_from_the_old_to_the_new(old: Any, new: Any) -> None:
    assert merged(old, difference(old, new)) == new


@given(OBJECTS)
def test_between_equals_there_is_no_difference(value: Any) -> None:
    assert difference(value, value) == {}


def test_times_are_whole_seconds_and_nothing_is_null() -> None:
    status = Status(phase=Phase.RUNNING, start_time=at(0.75), failure=None)
    plain = written(status)
    assert plain["startTime"] == "2026-03-01T12:00:00Z"
    assert plain["phase"] == "Running"
    assert type(plain["phase"]) is str
    assert "failure" not in plain
    assert Status.model_validate(plain).start_time == NOW


def test_a_fraction_of_a_second_is_no_difference() -> None:
    assert same(Status(start_time=NOW), Status(start_time=at(0.5)))
    assert not same(Status(start_time=NOW), Status(start_time=at(1)))


@pytest.mark.parametrize(
    ("change", "may_wait"),
    [
        ({"ready": "2/3"}, True),
        ({"instances": Instances(running=2)}, True),
        ({"replicas": 2}, True),
        ({"ready": "2/3", "phase": Phase.RUNNING}, False),
        ({"message": "waits"}, True),
        ({"conditions": [condition(message="3 of 4 are there")]}, True),
        ({"conditions": [condition(reason="QuotaExceeded")]}, False),
        ({"conditions": [condition(status="True")]}, False),
        ({"conditions": []}, False),
        ({"failure": Failure(rank=0, pod="mnist-master", reason="Error")}, False),
    ],
)
def test_only_counts_and_words_may_wait(change: dict[str, Any], may_wait: bool) -> None:
    old = Status(conditions=[condition()])
    assert only_words(old, old.model_copy(update=change)) is may_wait


class Place:
    """One job on a fake server, known to a store."""

    def __init__(self) -> None:
        self.api = FakeApi()
        self.store = Store(lambda: NOW)
        self.store.put_job(self.api.add(PATH, a_body()))
        self.writer = Writer(self.api, self.store)  # type: ignore[arg-type]

    def job(self) -> TrainingJob:
        """The job as it is known."""
        body = self.store.job(("lab", "mnist"))
        assert body is not None
        found = parse(body)
        assert isinstance(found, TrainingJob)
        return found


@pytest.fixture
def place() -> Place:
    return Place()


async def test_the_answer_is_known_at_once(place: Place) -> None:
    assert await place.writer.write(place.job(), Status(phase=Phase.PENDING, ready="0/3"))
    assert place.job().status.ready == "0/3"
    assert place.api.calls == [("PATCH", f"{PATH}/status")]


async def test_a_removed_field_is_removed(place: Place) -> None:
    await place.writer.write(place.job(), Status(progress="40%"))
    await place.writer.write(place.job(), Status())
    assert place.job().status.progress is None
    assert place.api.bodies[-1]["status"] == {"progress": None}


async def test_a_change_by_somebody_else_is_not_overwritten(place: Place) -> None:
    job = place.job()
    changed = place.api.objects[PATH]
    changed["spec"]["suspend"] = True
    place.api.add(PATH, changed)
    assert not await place.writer.write(job, Status(phase=Phase.RUNNING))
    assert place.job().spec.suspend
    assert place.job().status.phase is None


async def test_what_is_known_to_be_out_of_date_is_not_sent(place: Place) -> None:
    job = place.job()
    place.store.put_job(place.api.add(PATH, place.api.objects[PATH]))
    assert not await place.writer.write(job, Status(phase=Phase.RUNNING))
    assert not place.api.calls


@pytest.mark.parametrize("conflict", [False, True], ids=["at once", "after a conflict"])
async def test_a_job_that_is_gone_is_forgotten(place: Place, conflict: bool) -> None:
    job = place.job()
    if conflict:
        place.api.refuse = lambda method, _: (
            ApiError(409, "Conflict", "changed") if method == "PATCH" else None
        )
    del place.api.objects[PATH]
    assert not await place.writer.write(job, Status(phase=Phase.RUNNING))
    assert place.store.job(("lab", "mnist")) is None


async def test_what_an_older_definition_does_not_keep_is_sent_once(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    patch = place.api._patch  # noqa: SLF001 - the fake prunes as a server would

    def pruning(at: str, body: Any) -> Any:
        del body["status"]["message"]
        return patch(at, body)

    place.api._patch = pruning  # type: ignore[method-assign]  # noqa: SLF001
    new = Status(message="waits", phase=Phase.PENDING)
    assert place.writer.differs(place.job(), new)
    await place.writer.write(place.job(), new)
    assert not place.writer.differs(place.job(), new)
    assert place.writer.differs(place.job(), Status(message="runs"))
    assert "older than this operator" in caplog.text
    assert "(message)" in caplog.text
    place.writer.forget(place.job().uid)
    assert place.writer.differs(place.job(), new)
