"""The status is written once, when it differs, and never over a newer change."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builders import NOW, a_body, at
from cluster.fakeapi import FakeApi, merged
from trainingjobs.cluster.errors import ApiError
from trainingjobs.cluster.haste import Haste
from trainingjobs.cluster.status import Writer, difference, hurry, same, written
from trainingjobs.cluster.store import Store
from trainingjobs.model.job import TrainingJob, parse
from trainingjobs.model.status import Condition, Failure, Instances, Phase, Status
from trainingjobs.model.training import Found, Goodput, Training, TroubledRank

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


STALL = Found(type="Stalled", ranks="1", message="rank 1 stands", since=NOW)
LAG = Found(type="Straggler", ranks="2", message="rank 2 is slow", since=NOW)
STANDS = condition(type="Stalled", reason="Stalled", message="rank 1 stands at train.py:7")


@pytest.mark.parametrize(
    ("change", "haste"),
    [
        ({}, Haste.NEVER),
        ({"goodput": Goodput(training_seconds=5), "accounted_time": at(5)}, Haste.NEVER),
        ({"progress": "41%"}, Haste.NUMBERS),
        ({"training": Training(step=21)}, Haste.NUMBERS),
        ({"troubled_ranks": [TroubledRank(rank=1, pod="p", step=1)]}, Haste.NUMBERS),
        ({"findings": []}, Haste.NUMBERS),
        ({"findings": [STALL.model_copy(update={"ranks": "2"})]}, Haste.NUMBERS),
        ({"findings": [STALL, LAG]}, Haste.NOW),
        ({"ready": "2/3"}, Haste.WORDS),
        ({"instances": Instances(running=2)}, Haste.WORDS),
        ({"replicas": 2}, Haste.WORDS),
        ({"message": "waits"}, Haste.WORDS),
        ({"progress": "41%", "message": "waits"}, Haste.WORDS),
        ({"conditions": [condition(message="3 of 4 are there"), STANDS]}, Haste.WORDS),
        ({"ready": "2/3", "phase": Phase.RUNNING}, Haste.NOW),
        ({"conditions": [condition(reason="QuotaExceeded"), STANDS]}, Haste.NOW),
        ({"conditions": [condition(status="True"), STANDS]}, Haste.NOW),
        ({"conditions": [condition()]}, Haste.NOW),
        ({"failure": Failure(rank=0, pod="mnist-master", reason="Error")}, Haste.NOW),
    ],
)
def test_how_soon_a_change_is_told(change: dict[str, Any], haste: Haste) -> None:
    old = Status(conditions=[condition(), STANDS], findings=[STALL], training=Training(step=20))
    assert hurry(old, old.model_copy(update=change)) is haste


def starting(phase: Phase, reason: str, made: str) -> Status:
    """The status of a group on its way."""
    told = [
        condition(type="PodsCreated", status=made, reason=reason),
        condition(reason=reason),
        condition(type="Finished", reason=phase.value),
    ]
    return Status(phase=phase, conditions=told)


@pytest.mark.parametrize(
    ("new", "haste"),
    [
        (starting(Phase.PENDING, "Pending", "True"), Haste.SOON),
        (starting(Phase.STARTING, "Starting", "True"), Haste.SOON),
        (starting(Phase.PENDING, "Unschedulable", "True"), Haste.NOW),
        (starting(Phase.STARTING, "ImagePull", "True"), Haste.NOW),
        (starting(Phase.RUNNING, "AllInstancesRunning", "True"), Haste.NOW),
        (starting(Phase.RESTARTING, "Restarting", "False"), Haste.NOW),
        (starting(Phase.STARTING, "Starting", "True").model_copy(update={"attempt": 2}), Haste.NOW),
    ],
)
def test_a_group_that_starts_is_told_after_a_moment_in_which_it_may_run(
    new: Status, haste: Haste
) -> None:
    assert hurry(starting(Phase.PENDING, "Pending", "False"), new) is haste
    assert hurry(Status(), new) is Haste.NOW


@pytest.mark.parametrize(
    ("changes", "haste"),
    [
        ({"message": "rank 1 stands at train.py:8"}, Haste.NUMBERS),
        ({"reason": "Waiting"}, Haste.NUMBERS),
        ({"status": "True"}, Haste.NOW),
    ],
)
def test_the_roll_call_flips_at_once_and_words_it_anew_later(
    changes: dict[str, str], haste: Haste
) -> None:
    old = Status(phase=Phase.RUNNING, message="rank 1 stands at train.py:7", conditions=[STANDS])
    said = {"message": "anew", "conditions": [STANDS.model_copy(update=changes)]}
    assert hurry(old, old.model_copy(update=said)) is haste


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
