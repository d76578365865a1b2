"""What is remembered of reports: the newest, bounded for each pod, and no longer than its job."""

import contextlib
import json
import tracemalloc
from datetime import datetime, timedelta
from typing import Any

import pytest

from builders import NOW, UID, a_body, at
from cluster.raw import raw_pod
from handlers.pods import OTHER, a_report, a_store
from trainingjobs.cluster.callers import Caller, Callers, UnknownPodError
from trainingjobs.cluster.gate import BusyError
from trainingjobs.cluster.rolls import Rolls, interval
from trainingjobs.cluster.sharing import Sharing
from trainingjobs.cluster.sheets import SPARE_BYTES, SPARE_PROCESSES
from trainingjobs.model.report import Report, Stage
from trainingjobs.model.roll import Roll


class Clock:
    """A clock that is set by hand."""

    now: datetime = NOW

    def __call__(self) -> datetime:
        """The time that it was set to."""
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def rolls(clock: Clock) -> Rolls:
    return Rolls(clock)


def a_caller(instance: int = 0, **changes: Any) -> Caller:
    told = {
        "key": ("lab", "mnist"),
        "job_uid": UID,
        "pod_uid": f"pod-{instance}",
        "attempt": 1,
        "instance": instance,
        "processes": 1,
        "size": 3,
    }
    return Caller(**{**told, **changes})


def a_word(process: str = "p-0", **changes: Any) -> Report:
    return Report.model_validate(a_report(process=process, **changes))


def take(rolls: Rolls, caller: Caller, report: Report, size: int = 100) -> Any:
    return rolls.take(caller, report, size)[1]


def test_the_newest_report_of_a_process_counts(rolls: Rolls, clock: Clock) -> None:
    take(rolls, a_caller(), a_word(steps=1))
    clock.now = at(5)
    before, entry = rolls.take(a_caller(), a_word(steps=2), 100)
    assert before is not None
    assert (before.report.steps, entry.report.steps) == (1, 2)
    assert (entry.first, entry.received) == (NOW, at(5))
    assert rolls.of(UID, 1) == Roll(entries=(entry,))


ERROR = {"type": "ValueError"}


@pytest.mark.parametrize(
    ("early", "late"),
    [
        ({"number": 7, "stage": "stepping"}, {"number": 6, "stage": "wrapped"}),
        ({"number": 7, "error": ERROR}, {"number": 6}),
        ({"stage": "ended"}, {"stage": "stepping"}),
        ({"number": 7, "stage": "ended"}, {"number": 8, "stage": "stepping"}),
        ({"error": ERROR}, {"steps": 8}),
    ],
)
def test_a_report_that_was_overtaken_undoes_nothing(
    rolls: Rolls, clock: Clock, early: dict[str, Any], late: dict[str, Any]
) -> None:
    """Two connections have no order, and the last word is sent while another is on its way."""
    said = take(rolls, a_caller(), a_word(**early))
    clock.now = at(1)
    assert rolls.take(a_caller(), a_word(**late), 100) == (said, said)
    assert rolls.of(UID, 1) == Roll(entries=(said,))


@pytest.mark.parametrize(
    ("early", "late"),
    [
        ({"number": 7}, {"number": 8}),
        ({"number": 7}, {"number": 7}),
        ({"number": 7}, {}),
        ({}, {"number": 0}),
        ({"number": 7, "error": ERROR}, {"number": 8}),
        ({"error": ERROR}, {"error": ERROR, "stage": "ended"}),
    ],
)
def test_a_report_that_comes_in_its_turn_counts(
    rolls: Rolls, early: dict[str, Any], late: dict[str, Any]
) -> None:
    take(rolls, a_caller(), a_word(**early))
    assert take(rolls, a_caller(), a_word(**late)).report == a_word(**late)


def test_each_process_of_each_pod_has_its_entry(rolls: Rolls) -> None:
    for instance in range(3):
        for process in ("a", "b"):
            take(rolls, a_caller(instance), a_word(process, rank=instance))
    entries = rolls.of(UID, 1).entries
    assert [(it.instance, it.pod_uid, it.report.process) for it in entries] == [
        (instance, f"pod-{instance}", process) for instance in range(3) for process in ("a", "b")
    ]


def test_the_roll_is_made_once_until_it_changes(rolls: Rolls) -> None:
    take(rolls, a_caller(), a_word())
    roll = rolls.of(UID, 1)
    take(rolls, a_caller(job_uid=OTHER), a_word())
    assert rolls.of(UID, 1) is roll
    take(rolls, a_caller(), a_word())
    assert rolls.of(UID, 1) is not roll


def test_another_attempt_begins_with_nothing(rolls: Rolls) -> None:
    take(rolls, a_caller(), a_word())
    assert rolls.of(UID, 2) == Roll()
    take(rolls, a_caller(1, attempt=2), a_word(rank=1))
    assert rolls.of(UID, 1) == Roll()
    assert [it.instance for it in rolls.of(UID, 2).entries] == [1]


def test_nothing_is_kept_of_a_job_that_is_gone(rolls: Rolls, clock: Clock) -> None:
    take(rolls, a_caller(), a_word())
    rolls.forget(UID)
    rolls.forget(UID)
    clock.now = at(2)
    assert (rolls.of(UID, 1), rolls.jobs, rolls.heard) == (Roll(), 0, 0)


@pytest.mark.parametrize("processes", [1, 8])
def test_a_pod_has_so_many_processes_and_the_silent_ones_go(rolls: Rolls, processes: int) -> None:
    caller, most = a_caller(processes=processes), SPARE_PROCESSES + processes
    take(rolls, caller, a_word("early"))
    for number in range(most - 1):
        take(rolls, caller, a_word(str(number)))
    take(rolls, caller, a_word("early"))  # it still speaks
    take(rolls, caller, a_word("late"))
    names = [it.report.process for it in rolls.of(UID, 1).entries]
    assert len(names) == most
    assert names[-2:] == ["early", "late"]
    assert "0" not in names


def test_a_pod_has_so_many_bytes_but_always_its_newest_report(rolls: Rolls) -> None:
    for number in range(64):
        take(rolls, a_caller(), a_word(str(number)), 16_384)
    kept = [it.report.process for it in rolls.of(UID, 1).entries]
    assert kept == ["60", "61", "62", "63"]
    assert len(kept) * 16_384 <= SPARE_BYTES + 8_192
    take(rolls, a_caller(), a_word("huge"), 10**9)
    assert [it.report.process for it in rolls.of(UID, 1).entries] == ["huge"]


def a_stack(name: str) -> list[dict[str, Any]]:
    """A stack as deep as may be, which nobody else has."""
    return [{"file": f"{name}.py", "line": it, "function": f"f_{name}"} for it in range(24)]


def test_four_hundred_pods_that_mean_harm_take_no_more_than_there_is_room_for(
    clock: Clock,
) -> None:
    """Each sends as many processes as it can, all with stacks of their own."""
    rolls, room = Rolls(clock, room=1_000_000), 1_000_000
    for number in range(4_000):
        pod, word = number % 400, a_word(str(number), rank=None, frames=a_stack(str(number)))
        with contextlib.suppress(BusyError):
            take(rolls, a_caller(pod, size=400), word, 3_000)
    assert rolls.weight <= 2 * room
    rolls.forget(UID)
    assert rolls.weight == 0


def test_what_is_weighed_is_what_is_taken(rolls: Rolls) -> None:
    tracemalloc.start()
    for number in range(300):
        text = json.dumps(a_report(process=f"p-{number}", frames=a_stack(str(number))))
        report = Report.model_validate_json(text, strict=True)
        take(rolls, a_caller(number, size=300), report, len(text))
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 0.5 * taken <= rolls.weight <= 2 * taken


def test_where_room_gets_scarce_spare_processes_go_before_stacks(clock: Clock) -> None:
    rolls = Rolls(clock, room=100_000)

    def send(process: str) -> None:
        take(rolls, a_caller(0), a_word(process, frames=a_stack(process)), 1_000)

    for number in range(4):
        send(str(number))
    assert len(rolls.of(UID, 1).entries) == 4
    for number in range(1, 9):
        other = a_caller(number, size=9)
        take(rolls, other, a_word(rank=number, frames=a_stack(f"o{number}")), 1_000)
    send("late")
    entries = [it.report for it in rolls.of(UID, 1).entries if it.instance == 0]
    assert [it.process for it in entries] == ["3", "late"]
    assert entries[-1].frames == []


def test_a_job_that_takes_too_much_takes_nothing_from_another(clock: Clock) -> None:
    rolls = Rolls(clock, room=100_000)
    with contextlib.suppress(BusyError):
        for number in range(99):
            take(rolls, a_caller(number, size=100), a_word(frames=a_stack(str(number))), 3_000)
    with pytest.raises(BusyError):
        take(rolls, a_caller(99, size=100), a_word())
    modest = a_caller(job_uid=OTHER)
    assert take(rolls, modest, a_word(frames=a_stack("modest"))).report.frames != []
    # who is known already is heard as before
    assert take(rolls, a_caller(0), a_word(steps=9)).report.steps == 9


def test_one_pod_takes_nothing_from_another(rolls: Rolls) -> None:
    take(rolls, a_caller(0), a_word("honest"))
    for number in range(10_000):
        take(rolls, a_caller(1), a_word(str(number), rank=1), 16_384)
    assert rolls.of(UID, 1).entries[0].report.process == "honest"


def test_who_has_ended_or_is_silent_does_not_count(rolls: Rolls, clock: Clock) -> None:
    for name in ("a", "b", "c"):
        take(rolls, a_caller(), a_word(name))
    assert rolls.heard == 3
    take(rolls, a_caller(), a_word("a", stage=Stage.ENDED))
    clock.now = at(14)
    take(rolls, a_caller(), a_word("b"))
    assert rolls.heard == 2
    clock.now = at(16)
    assert rolls.heard == 1


def test_the_number_of_those_who_report_is_true_at_any_moment(rolls: Rolls) -> None:
    take(rolls, a_caller(0), a_word("a", stage=Stage.ENDED))
    assert rolls.heard == 0
    for number in range(3):
        take(rolls, a_caller(number), a_word("b"))
    assert rolls.heard == 3
    take(rolls, a_caller(0), a_word("b", stage=Stage.ENDED))
    assert rolls.heard == 2
    rolls.forget(UID)
    assert (rolls.heard, rolls.jobs) == (0, 0)


def test_all_processes_together_report_no_more_often_than_asked() -> None:
    """The law of the load: whatever their number, and never more often than it helps."""
    for rate in (1.0, 50.5, 200.0):
        for processes in range(1, 20_001):
            seconds = interval(processes, rate).total_seconds()
            assert processes / seconds <= rate * (1 + 1e-6)
            assert seconds >= 5
    assert interval(1000, 200).total_seconds() == 5
    assert interval(10_000, 200).total_seconds() == 50


def test_a_crowd_that_comes_at_once_is_spread_as_it_comes(rolls: Rolls) -> None:
    intervals = [
        take(rolls, a_caller(number, size=4000), a_word(rank=number)).interval
        for number in range(4000)
    ]
    assert intervals[0] == timedelta(seconds=5)
    assert intervals[-1] == timedelta(seconds=20)


def test_ten_thousand_ranks_take_little_memory(rolls: Rolls) -> None:
    """Equal words are kept once: without that it is ten times as much."""
    frames = [
        {"file": f"torch/nn/parallel/module_{it}.py", "line": it, "function": "forward"}
        for it in range(20)
    ]
    about = {"frames": frames, "stage": "stepping", "waitsIn": "backward", "worldSize": 10_000}
    texts = [
        json.dumps(a_report(process=f"p-{it}", rank=it, steps=it, **about)) for it in range(2000)
    ]
    tracemalloc.start()
    for rank, text in enumerate(texts):
        report = Report.model_validate_json(text, strict=True)
        take(rolls, a_caller(rank, size=10_000), report, len(text))
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken / len(texts) < 5_000


def test_what_is_shared_is_what_was_sent() -> None:
    sharing = Sharing()
    frames = [{"file": "train.py", "line": 7, "function": "main", "user": True}]
    data = {"sampler": "distributed", "samples": 7, "epochSet": True}
    one, two = (
        a_word(name, frames=frames, data=data, told={"metrics": {"loss": 0.5}})
        for name in ("a", "b")
    )
    kept, again = sharing.shared(one), sharing.shared(two)
    assert (kept, again) == (one, two)
    assert kept.model_dump_json() == one.model_dump_json()
    assert kept.model_fields_set == one.model_fields_set
    assert kept.frames is again.frames
    assert kept.data is again.data


def test_parts_of_different_kinds_are_not_mixed_up() -> None:
    """All of their values may be equal, as all may be absent."""
    kept = Sharing().shared(a_word(lines={}, data={}, model={}, frames=[]))
    assert kept == a_word(lines={}, data={}, model={}, frames=[])


class Watch:
    """A clock in seconds."""

    now = 0.0

    def __call__(self) -> float:
        """The time that it was set to."""
        return self.now


def test_a_caller_is_found_with_its_ranks() -> None:
    callers = Callers(a_store(processesPerInstance=4), Watch())
    caller = callers.find("pod-2")
    assert (caller.key, caller.job_uid, caller.attempt) == (("lab", "mnist"), UID, 1)
    assert (caller.instance, caller.size, caller.ranks) == (2, 3, range(8, 12))
    assert callers.find("pod-other").job_uid == OTHER


def test_a_process_for_each_gpu_makes_as_many_ranks() -> None:
    limits = {"resources": {"limits": {"nvidia.com/gpu": "8"}}}
    template = {"spec": {"containers": [{"name": "trainer", "image": "i", **limits}]}}
    store = a_store(template=template, processesPerInstance="auto")
    assert Callers(store, Watch()).find("pod-1").ranks == range(8, 16)


def test_a_pod_that_is_not_told_of_yet_may_wait_but_not_for_ever() -> None:
    store, watch = a_store(), Watch()
    callers = Callers(store, watch)
    for seconds, forever in ((0, False), (29, False), (31, True)):
        watch.now = seconds
        with pytest.raises(UnknownPodError) as refused:
            callers.find("pod-late")
        assert refused.value.forever is forever
    store.put({**raw_pod(1, uid="pod-late"), "kind": "Pod"})
    assert callers.find("pod-late").instance == 1


def test_a_pod_or_a_job_that_is_gone_speaks_no_more() -> None:
    store = a_store()
    callers = Callers(store, Watch())
    assert [callers.find(f"pod-{it}").instance for it in (0, 1)] == [0, 1]
    store.drop({**raw_pod(1, version="6"), "kind": "Pod"})
    with pytest.raises(UnknownPodError, match="gone") as refused:
        callers.find("pod-1")
    assert refused.value.forever
    body = a_body()
    store.drop_job({**body, "metadata": {**body["metadata"], "resourceVersion": "11"}})
    with pytest.raises(UnknownPodError, match="gone"):
        callers.find("pod-0")


def test_a_job_of_the_same_name_is_another_job() -> None:
    store = a_store()
    callers = Callers(store, Watch())
    callers.find("pod-0")
    again = a_body()
    again["metadata"] |= {"uid": "another", "resourceVersion": "12"}
    store.put_job(again)
    with pytest.raises(UnknownPodError, match="gone"):
        callers.find("pod-0")


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_of_a_job_that_is_over_speaks_no_more(phase: str) -> None:
    """Else what is forgotten with the job's end would begin anew."""
    store = a_store()
    body = a_body()
    body["metadata"]["resourceVersion"] = "11"
    store.put_job({**body, "status": {"attempt": 1, "phase": phase}})
    with pytest.raises(UnknownPodError, match="is over") as refused:
        Callers(store, Watch()).find("pod-0")
    assert refused.value.forever


def test_a_pod_of_an_attempt_that_is_over_speaks_no_more() -> None:
    store = a_store()
    body = a_body()
    body["metadata"]["resourceVersion"] = "11"
    store.put_job({**body, "status": {"attempt": 2}})
    with pytest.raises(UnknownPodError, match="attempt 1, which is over: 2 runs now") as refused:
        Callers(store, Watch()).find("pod-0")
    assert refused.value.forever
