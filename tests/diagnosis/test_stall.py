"""A group that stands still: who keeps the others waiting, where, and what to do."""

from datetime import timedelta
from typing import Any

import pytest

from builders import NOW, a_job, a_pod, at, ended
from diagnosis.given import (
    a_report,
    an_entry,
    at_line,
    idle,
    in_loader,
    joined,
    joining,
    kinds,
    long_ago,
    looked_at,
    spawned,
    waiting,
)
from trainingjobs.diagnosis.stall import NO_STEPS, UNHEARD
from trainingjobs.model.finding import Kind
from trainingjobs.model.report import Frame
from trainingjobs.model.status import Condition, Status

ONE = "rank 1 (mnist-worker-0 on node-a)"
SINCE = "no step since 11:53Z"
OTHERS = f"ranks 0, 2 wait in backward at train.py:30; {SINCE}"
ORDER = "every rank has to call the same collectives in the same order"
LEFT_OUT = "see what holds it there, or which collective it has left out"
GPU = {"device": "GPU-1", "cpu": 1.0}

LEFT = long_ago(a_report(1, stage="ended", destroyed=True, steps=40), 400)
GUILTY: dict[str, tuple[list[Any], dict[str, Any], tuple[int, ...], str]] = {
    "a rank sleeps": (
        [waiting(0), waiting(2), idle(1)],
        {},
        (1,),
        f"{ONE} stands at train.py:7 in main; {OTHERS}: {LEFT_OUT}",
    ),
    "a rank is stopped": (
        [waiting(0), waiting(2), long_ago(a_report(1), 400)],
        {},
        (1,),
        (
            f"{ONE} is silent since 11:53:20Z, last seen at train.py:41 "
            f"in main; {OTHERS}: its process or its node is stopped, or a call holds the "
            "interpreter: look at pod mnist-worker-0 and node node-a"
        ),
    ),
    "a victim falls silent long after the others stopped": (
        [waiting(0, 2000), long_ago(waiting(2, 1900), 100), idle(1, 2000)],
        {},
        (1,),
        (
            f"{ONE} stands at train.py:7 in main; rank 0 waits in backward at train.py:30; no "
            f"step since 11:26Z: {LEFT_OUT}"
        ),
    ),
    "a node is gone": (
        [waiting(0), waiting(2), long_ago(a_report(1), 400)],
        {"pods": [a_pod(0), a_pod(1, phase="Unknown", running=False, node="node-b"), a_pod(2)]},
        (1,),
        (
            "rank 1 (mnist-worker-0 on node-b) is silent since 11:53:20Z, last seen at train.py:41 "
            f"in main; {OTHERS}: its process or its node is stopped, or a call holds the "
            "interpreter: look at pod mnist-worker-0 and node node-b"
        ),
    ),
    "a rank waits for its data loader": (
        [waiting(0), waiting(2), idle(1, frames=in_loader(20))],
        {},
        (1,),
        (
            f"{ONE} waits for its data loader at train.py:20; "
            f"{OTHERS}: look at what its data loader reads"
        ),
    ),
    "a rank skipped a collective and came to the next": (
        [waiting(0), waiting(2), waiting(1, line=35, waits_in="barrier")],
        {},
        (1,),
        f"{ONE} waits in barrier at train.py:35; {OTHERS}: {ORDER}",
    ),
    "the master skipped it": (
        [waiting(1), waiting(2), waiting(0, line=35, waits_in="barrier")],
        {},
        (0,),
        (
            "rank 0 (mnist-master on node-a) waits in barrier at train.py:35; ranks 1-2 wait in "
            f"backward at train.py:30; {SINCE}: {ORDER}"
        ),
    ),
    "a rank is one collective behind at the same line": (
        [waiting(0), waiting(2), waiting(1, sequence=3999)],
        {},
        (1,),
        (f"{ONE} waits in backward at train.py:30 after 3999 collectives; {OTHERS}: {ORDER}"),
    ),
    "of two ranks the one behind": (
        [waiting(0, world=2), waiting(1, world=2, line=35, waits_in="barrier", sequence=3999)],
        {"job": a_job(2)},
        (1,),
        (
            f"{ONE} waits in barrier at train.py:35; rank 0 waits in "
            f"backward at train.py:30; {SINCE}: {ORDER}"
        ),
    ),
    "of two ranks neither can be told guilty": (
        [waiting(0, world=2), waiting(1, world=2, line=35, waits_in="barrier")],
        {"job": a_job(2)},
        (0, 1),
        (
            "rank 0 waits in backward at train.py:30 and rank 1 waits in barrier at train.py:35; "
            f"{SINCE}: {ORDER}"
        ),
    ),
    "all wait at the same place": (
        [waiting(0), waiting(1), waiting(2)],
        {},
        (),
        (
            f"all ranks wait in backward at train.py:30; {SINCE}: look at the network between the "
            "pods (NetworkPolicy, NCCL and gloo interfaces)"
        ),
    ),
    "all wait for data": (
        [idle(rank, frames=in_loader(20)) for rank in range(3)],
        {},
        (),
        f"all ranks wait for their data loaders at train.py:20; {SINCE}: see what holds them there",
    ),
    "a rank of all that wait nowhere stands apart": (
        [idle(0, line=9), idle(2, line=9), idle(1)],
        {},
        (1,),
        (
            f"{ONE} stands at train.py:7 in main; ranks 0, 2 stand at "
            f"train.py:9 in main; {SINCE}: {ORDER}"
        ),
    ),
    "a rank has finished": (
        [
            waiting(0),
            waiting(2),
            LEFT,
        ],
        {"pods": [a_pod(0), ended(1, 0), a_pod(2)]},
        (1,),
        (
            f"{ONE} finished after 40 steps; {OTHERS}: give each rank "
            "the same number of batches (DistributedSampler, drop_last) or use torch's Join"
        ),
    ),
    "the others have left in order and rank 0 hangs": (
        [idle(0, 2000), *(a_report(r, stage="left", quiet_seconds=2100) for r in (1, 2))],
        {},
        (0,),
        (
            "rank 0 (mnist-master on node-a) stands at train.py:7 in main; no step since 11:26Z: "
            "see what holds it there"
        ),
    ),
    "all hang where they take leave": (
        [waiting(r, stage="left", waits_in="destroy_process_group") for r in range(3)],
        {},
        (),
        (
            f"all ranks wait in destroy_process_group at train.py:30; {SINCE}: look at the network "
            "between the pods (NetworkPolicy, NCCL and gloo interfaces)"
        ),
    ),
    "beside ranks that spin for their device one sleeps": (
        [idle(0, line=30, **GPU), idle(2, line=30, **GPU), idle(1, device="GPU-2")],
        {},
        (1,),
        (
            f"{ONE} stands at train.py:7 in main; ranks 0, 2 stand at "
            f"train.py:30 in main; {SINCE}: {LEFT_OUT}"
        ),
    ),
    "ranks spin for their device in backward and one came to a barrier": (
        [waiting(0, **GPU), waiting(2, **GPU), waiting(1, line=35, waits_in="barrier", **GPU)],
        {},
        (1,),
        f"{ONE} waits in barrier at train.py:35; {OTHERS}: {ORDER}",
    ),
    "beside ranks that wait for their device one sleeps": (
        [waiting(0, waits_in="item", **GPU), waiting(2, waits_in="item", **GPU), idle(1)],
        {},
        (1,),
        (
            f"{ONE} stands at train.py:7 in main; ranks 0, 2 wait in item at train.py:30; {SINCE}: "
            f"{LEFT_OUT}"
        ),
    ),
    "a job of one": (
        [idle(0, world=1)],
        {"job": a_job(1)},
        (0,),
        (
            f"rank 0 (mnist-master on node-a) stands at train.py:7 in main; {SINCE}: see what "
            f"holds "
            "it there"
        ),
    ),
    "a wrapper's constructor hangs before the first step": (
        [
            *(joined(rank, 400, waits_in="broadcast", frames=at_line(12)) for rank in (0, 2)),
            joined(1, 400, frames=at_line(10), cpu=0),
        ],
        {},
        (1,),
        (
            f"{ONE} stands at train.py:10 in main; ranks 0, 2 wait in "
            f"broadcast at train.py:12; {SINCE}: {LEFT_OUT}"
        ),
    ),
    "one of eight": (
        [*(waiting(rank, world=8) for rank in range(8) if rank != 3), idle(3, world=8)],
        {"job": a_job(8)},
        (3,),
        (
            "rank 3 (mnist-worker-2 on node-a) stands at train.py:7 in main; ranks 0-2, 4-7 "
            "wait in "
            f"backward at train.py:30; {SINCE}: {LEFT_OUT}"
        ),
    ),
}


@pytest.mark.parametrize(("told", "others", "guilty", "words"), GUILTY.values(), ids=GUILTY)
def test_the_guilty_rank_is_named(
    told: list[Any], others: dict[str, Any], guilty: tuple[int, ...], words: str
) -> None:
    found = looked_at(*told, **others)
    assert found.stalled is not None
    first = found.findings[0]
    assert (first.kind, first.ranks, first.message) == (Kind.STALLED, guilty, words)
    assert (found.stalled.truth, found.stalled.message) == (True, words)


def test_the_line_is_the_guilty_rank_s() -> None:
    found = looked_at(waiting(0), waiting(2), idle(1))
    assert found.findings[0].line == "train.py:7"


def busy(rank: int, **changes: Any) -> Any:
    """A rank that works outside of all collectives."""
    return idle(rank, **{"cpu": 1.0, "line": 50, **changes})


BARRIER = [waiting(rank, line=35, waits_in="barrier", **GPU) for rank in (1, 2)]

FALSE_ALARMS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "all step": ([a_report(0), a_report(1), a_report(2)], {}),
    "one is slow and all wait for it now and then": (
        [waiting(0, 200), waiting(2, 200), a_report(1)],
        {},
    ),
    "an evaluation of 5 minutes on rank 0": ([busy(0, seconds=310), waiting(1), waiting(2)], {}),
    "the same with a limit of 30 s": (
        [busy(0, seconds=310), waiting(1), waiting(2)],
        {"job": a_job(3, stallTimeoutSeconds=30)},
    ),
    "the same on a GPU, whose barrier spins": (
        [busy(0, **GPU), waiting(1, **GPU), waiting(2, **GPU)],
        {},
    ),
    "an evaluation that takes batches": (
        [idle(0, 0.1), waiting(1), waiting(2)],
        {},
    ),
    "the first step compiles": (
        [joined(rank, 400, cpu=1.0, frames=at_line(41)) for rank in range(3)],
        {},
    ),
    "the first step compiles for GPUs": (
        [joined(rank, 400, frames=at_line(41), **GPU) for rank in range(3)],
        {},
    ),
    "the first backward compiles": (
        [waiting(rank, steps=0, cpu=1.0) for rank in range(3)],
        {},
    ),
    "rank 0 computes in its own backward": ([waiting(0, cpu=3.0), waiting(1), waiting(2)], {}),
    "rank 0 writes a checkpoint": (
        [idle(0, 400, 60, io=50e6), waiting(1), waiting(2)],
        {},
    ),
    "pauses as long as this one have ended before": (
        [waiting(rank, longest_quiet=250) for rank in range(3)],
        {},
    ),
    "rank 0 saves the model while the others have left": (
        [
            idle(0),
            a_report(1, stage="left", quiet_seconds=400),
            a_report(2, stage="ended", destroyed=True, quiet_seconds=400),
        ],
        {},
    ),
    "all have finished": (
        [a_report(rank, stage="ended", destroyed=True, quiet_seconds=900) for rank in range(3)],
        {},
    ),
    "an evaluation on a GPU fetches what it computes": (
        [waiting(0, line=50, waits_in="item", **GPU), *BARRIER],
        {},
    ),
    "an evaluation waits for its GPU, which keeps no core busy": (
        [waiting(0, line=50, waits_in="synchronize", device="GPU-1"), *BARRIER],
        {},
    ),
    "a rank at a long evaluation is not heard of for a while": (
        [long_ago(busy(0, seconds=370), 30), waiting(1), waiting(2)],
        {},
    ),
    "a rank at a long checkpoint is not heard of for a whole limit": (
        [long_ago(idle(0, 100, 60, io=50e6), 310), waiting(1), waiting(2)],
        {},
    ),
    "an evaluation has begun, and then for a while nobody is heard": (
        [long_ago(a_report(0), 25), waiting(1, 30), waiting(2, 30)],
        {"job": a_job(3, stallTimeoutSeconds=20), "deaf_until": at(-6)},
    ),
    "a rank has been silent for less than a limit": (
        [long_ago(a_report(0), 280), waiting(1, 301), waiting(2, 301)],
        {},
    ),
    "nobody has said since the limit that it still stands": (
        [long_ago(waiting(rank, 290), 11) for rank in range(3)],
        {},
    ),
    "one has not said it, as reports are asked for seldom": (
        [waiting(0), waiting(2), long_ago(idle(1, 290), 110, interval=timedelta(seconds=60))],
        {},
    ),
    "a rank that cannot be heard may work": ([waiting(1), waiting(2)], {}),
    "a rank was silent long before the others stopped": (
        [waiting(0), waiting(2), long_ago(a_report(1), 1000)],
        {},
    ),
}


@pytest.mark.parametrize(("told", "others"), FALSE_ALARMS.values(), ids=FALSE_ALARMS)
def test_no_false_alarm(told: list[Any], others: dict[str, Any]) -> None:
    found = looked_at(*told, **others)
    assert found.stalled is not None
    assert found.stalled.truth is False
    assert Kind.STALLED not in kinds(found)


NOT_SPOKEN_OF: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "ranks still join": ([joining(0, 900), joining(2, 900), spawned(1)], {}),
    "nobody has joined": ([spawned(rank, quiet_seconds=900) for rank in range(3)], {}),
    "no step is ever told": (
        [spawned(rank, quiet_seconds=900) for rank in range(3)],
        {"job": a_job(3, framework="TensorFlow")},
    ),
}


@pytest.mark.parametrize(("told", "others"), NOT_SPOKEN_OF.values(), ids=NOT_SPOKEN_OF)
def test_before_all_train_it_is_no_question_of_stalls(
    told: list[Any], others: dict[str, Any]
) -> None:
    assert looked_at(*told, **others).stalled is None


def test_where_nobody_is_heard_nothing_is_known() -> None:
    found = looked_at(*(long_ago(a_report(rank), 900) for rank in range(3)))
    assert found.stalled is not None
    assert (found.stalled.truth, found.stalled.reason) == (None, UNHEARD)


def test_a_stall_that_was_told_stands_while_nobody_is_heard() -> None:
    told = Condition(type="Stalled", status="True", reason="Stalled", last_transition_time=at(-99))
    job = a_job(3, status=Status(conditions=[told]))
    assert looked_at(*(long_ago(waiting(rank), 900) for rank in range(3)), job=job).stalled is None


def test_where_nobody_is_heard_for_a_moment_what_was_told_stands() -> None:
    found = looked_at(*(long_ago(a_report(rank), 40) for rank in range(3)))
    assert (found.stalled, found.look_again) == (None, at(20))


HEARD: dict[str, tuple[list[Any], bool]] = {
    "all": ([an_entry(a_report(rank), first=at(-5)) for rank in range(3)], False),
    "one of three, lately": ([an_entry(a_report(0), first=at(-5))], True),
    "one of three, for long": ([a_report(0)], False),
}


@pytest.mark.parametrize(("told", "partial"), HEARD.values(), ids=HEARD)
def test_an_operator_that_starts_anew_hears_of_one_at_a_time(
    told: list[Any], partial: bool
) -> None:
    assert looked_at(*told).partial is partial


def test_a_script_that_tells_its_own_steps_can_stall() -> None:
    told = {"step": 7}
    found = looked_at(
        *(spawned(rank, told=told, quiet_seconds=900, cpu=0) for rank in range(3)),
        job=a_job(3, framework="TensorFlow"),
    )
    assert kinds(found) == [Kind.STALLED]


def test_the_limit_is_the_user_s() -> None:
    group = waiting(0, 35), waiting(2, 35), idle(1, 35)
    assert kinds(looked_at(*group)) == []
    assert kinds(looked_at(*group, job=a_job(3, stallTimeoutSeconds=30))) == [Kind.STALLED]


def test_the_pause_that_all_have_made_before_counts() -> None:
    """Rank 1 alone once waited long: the group as a whole did not."""
    group = [waiting(0), waiting(2), idle(1, longest_quiet=900)]
    assert kinds(looked_at(*group)) == [Kind.STALLED]


UNCERTAIN: dict[str, list[Any]] = {
    "a rank still works": [busy(0, seconds=1900), waiting(1, 1900), waiting(2, 1900)],
    "a rank waits for its GPU": [
        waiting(0, 1900, waits_in="item", **GPU),
        *(waiting(rank, 1900, waits_in="barrier", **GPU) for rank in (1, 2)),
    ],
    "a rank was never heard of": [waiting(1, 1900), idle(2, 1900)],
    "a rank that worked is not heard of": [
        long_ago(busy(0, seconds=100), 1800),
        waiting(1, 1900),
        waiting(2, 1900),
    ],
    "some have finished": [idle(0, 1900), idle(1, 1900), LEFT],
    "nobody has stepped": [
        *(joined(rank, 400, waits_in="broadcast", frames=at_line(12)) for rank in (0, 2)),
        joined(1, 400, frames=at_line(10), cpu=0),
    ],
    "a rank is silent, though not for long": [
        waiting(0, 31),
        waiting(2, 31),
        long_ago(a_report(1), 31),
    ],
}


@pytest.mark.parametrize("told", UNCERTAIN.values(), ids=UNCERTAIN)
def test_what_may_be_work_is_told_and_is_not_certain(told: list[Any]) -> None:
    found = looked_at(*told, job=a_job(3, stallTimeoutSeconds=30)).stalled
    assert found is not None
    assert (found.truth, found.certain) == (True, False)


CERTAIN: dict[str, list[Any]] = {
    "a rank sleeps": [waiting(0), waiting(2), idle(1)],
    "a rank is stopped": [waiting(0), waiting(2), long_ago(a_report(1), 400)],
    "a rank has finished": [waiting(0), waiting(2), LEFT],
    "a rank sleeps, and the others wait for their GPUs": [
        waiting(0, waits_in="item", **GPU),
        waiting(2, waits_in="synchronize", **GPU),
        idle(1),
    ],
}


@pytest.mark.parametrize("told", CERTAIN.values(), ids=CERTAIN)
def test_a_hang_that_is_plain_is_certain(told: list[Any]) -> None:
    found = looked_at(*told).stalled
    assert found is not None
    assert (found.truth, found.certain) == (True, True)


NO_STEP_EVER: dict[str, list[Any]] = {
    "it serves, or trains with jax": [joined(rank, 900, cpu=0) for rank in range(3)],
    "it waits for its devices": [
        joined(rank, 3000, cpu=0, waits_in="block_until_ready") for rank in range(3)
    ],
    "it computes for long": [joined(rank, 3000, cpu=1.0) for rank in range(3)],
}


@pytest.mark.parametrize("told", NO_STEP_EVER.values(), ids=NO_STEP_EVER)
def test_where_no_step_is_seen_and_nobody_waits_nothing_is_known(told: list[Any]) -> None:
    found = looked_at(*told)
    assert found.stalled is not None
    assert (found.stalled.truth, found.stalled.reason) == (None, NO_STEPS)
    assert Kind.STALLED not in kinds(found)


def test_a_rank_that_fell_silent_with_the_operator_is_named_when_it_stays_so() -> None:
    told = long_ago(a_report(0), 400), waiting(1), waiting(2)
    assert kinds(looked_at(*told, deaf_until=at(-300))) == []
    assert looked_at(*told, deaf_until=at(-395)).findings[0].ranks == (0,)


def test_a_rank_that_works_is_waited_for_and_not_for_ever() -> None:
    others = waiting(1, 1900), waiting(2, 1900)
    found = looked_at(busy(0, seconds=1900), *others)
    assert found.findings[0].ranks == (0,)
    assert looked_at(busy(0, seconds=1700), *others, now=at(-200)).stalled is not None


def test_a_stall_that_was_told_does_not_end_because_somebody_works_a_little() -> None:
    told = Condition(type="Stalled", status="True", reason="Stalled", last_transition_time=at(-50))
    job = a_job(3, status=Status(conditions=[told]))
    group = busy(0), waiting(1), waiting(2)
    assert kinds(looked_at(*group)) == []
    assert kinds(looked_at(*group, job=job)) == [Kind.STALLED]


def test_a_stall_of_before_is_forgotten_with_the_next_step() -> None:
    told = Condition(type="Stalled", status="True", reason="Stalled", last_transition_time=at(-900))
    job = a_job(3, status=Status(conditions=[told]))
    assert kinds(looked_at(busy(0), waiting(1), waiting(2), job=job)) == []


def test_ranks_without_a_stack_are_named_all_the_same() -> None:
    found = looked_at(waiting(0), waiting(2), idle(1, frames=[]))
    assert f"{ONE} stands at an unknown line" in found.findings[0].message


def test_a_dataset_in_the_main_process_is_the_loader_s_too() -> None:
    frames = [
        Frame(file="data.py", line=3, function="__getitem__", user=True),
        Frame(file="torch/utils/data/dataloader.py", line=700, function="_next_data"),
        *at_line(20),
    ]
    found = looked_at(waiting(0), waiting(2), idle(1, frames=frames))
    assert "waits for its data loader at data.py:3" in found.findings[0].message


def test_many_places_are_counted() -> None:
    job, world = a_job(8), 8
    others = [waiting(rank, line=rank, world=world) for rank in range(7)]
    found = looked_at(*others, idle(7, world=world), job=job)
    assert "and 4 more ranks elsewhere" in found.findings[0].message


def test_the_time_of_the_stall_is_told_coarsely_so_that_late_reports_change_nothing() -> None:
    first, second = (
        looked_at(*(an_entry(waiting(rank), received=at(late)) for rank in range(3)), now=at(5))
        for late in (0.1, 0.9)
    )
    assert first.findings == second.findings
    assert NOW.second == 0


def test_a_rank_that_is_stopped_is_called_silent_from_the_first_word_on() -> None:
    """Its last report speaks of a rank that stands elsewhere; but it is from before the stop."""
    job = a_job(3, stallTimeoutSeconds=10)
    words = []
    for second in range(60):
        others = [
            an_entry(
                waiting(rank, seconds=second - second % 5),
                received=NOW - timedelta(seconds=second % 5),
            )
            for rank in (0, 2)
        ]
        told = looked_at(*others, long_ago(idle(1, seconds=0.1), second + 3), job=job)
        words += [it.message for it in told.findings if it.kind is Kind.STALLED]
    assert words
    assert all("is silent since" in message for message in words), words[0]
