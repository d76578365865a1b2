"""Which process speaks for which rank, whatever else runs in the pods."""

from typing import Any

import pytest

from builders import NOW, a_job, a_pod, at, ended
from diagnosis.given import (
    a_report,
    an_entry,
    at_line,
    joining,
    long_ago,
    looked_at,
    spawned,
)
from trainingjobs.model.finding import RankStanding
from trainingjobs.model.job import TrainingJob
from trainingjobs.model.report import Stage
from trainingjobs.model.roll import Entry

TWO = a_job(2, processesPerInstance=2)
ONE = a_job(1)


def of(instance: int, process: str, report: Any, **changes: Any) -> Entry:
    """A process of one pod."""
    renamed = report.model_copy(update={"process": process})
    return an_entry(renamed, instance, **changes)


def agent(instance: int, **changes: Any) -> Entry:
    """Torchrun's agent."""
    report = spawned(None, 1, world_size=None, launcher=True, pid=1, parent=0, **changes)
    return of(instance, f"agent-{instance}", report)


def child(instance: int, rank: int | None, pid: int, line: int, **changes: Any) -> Entry:
    """A process that another one of the pod, with process id 1, has started."""
    told = {"pid": pid, "parent": 1, "world_size": 4, "frames": at_line(line), **changes}
    return of(instance, f"child-{instance}-{pid}", spawned(rank, **told))


def lines(*told: Any, job: TrainingJob, **others: Any) -> list[str | None]:
    """Where each rank is said to stand."""
    return [standing.line for standing in looked_at(*told, job=job, **others).ranks]


def at_lines(*numbers: int | None) -> list[str | None]:
    return [None if number is None else f"train.py:{number}" for number in numbers]


PARENT = of(0, "parent", spawned(0, 1, pid=1, parent=0, world_size=4))
MAIN = of(0, "main", a_report(0, world=1, pid=7, parent=1, frames=at_line(41)))

SPEAKERS: dict[str, tuple[TrainingJob, list[Any], list[str | None]]] = {
    "one process in each pod": (
        a_job(2),
        [spawned(0, 3, world=2), spawned(1, 4, world=2)],
        at_lines(3, 4),
    ),
    "a framework that tells no rank": (
        a_job(2),
        [
            of(0, "a", spawned(None, 3, world_size=None)),
            of(1, "b", spawned(None, 4, world_size=None)),
        ],
        at_lines(3, 4),
    ),
    "torchrun's children and not its agents": (
        TWO,
        [
            agent(0),
            child(0, 0, 11, 3),
            child(0, 1, 12, 4),
            agent(1),
            child(1, 2, 11, 5),
            child(1, 3, 12, 6),
        ],
        at_lines(3, 4, 5, 6),
    ),
    "torchrun has numbered the pods by itself": (
        TWO,
        [child(0, 2, 11, 5), child(0, 3, 12, 6), child(1, 0, 11, 3), child(1, 1, 12, 4)],
        at_lines(3, 4, 5, 6),
    ),
    "an agent alone": (TWO, [agent(0)], at_lines(None, None, None, None)),
    "spawned processes without a rank yet": (
        TWO,
        [PARENT, child(0, None, 12, 4), child(0, None, 11, 3)],
        at_lines(3, 4, None, None),
    ),
    "one of two is not heard of yet": (
        TWO,
        [PARENT, child(0, None, 12, 4)],
        at_lines(None, None, None, None),
    ),
    "a parent before its children speak": (TWO, [PARENT], at_lines(1, None, None, None)),
    "children that have joined": (
        TWO,
        [PARENT, child(0, 1, 11, 4, stage="joined"), child(0, 0, 12, 3, stage="joined")],
        at_lines(3, 4, None, None),
    ),
    "children of a fork server": (
        TWO,
        [PARENT, child(0, 0, 11, 3, stage="joined", parent=99)],
        at_lines(3, None, None, None),
    ),
    "a helper of a rank": (
        ONE,
        [MAIN, of(0, "helper", spawned(0, 1, world=1, pid=8, parent=7), first=NOW)],
        at_lines(41),
    ),
    "a helper of a rank that is stopped": (
        ONE,
        [
            of(0, "main", MAIN.report, received=at(-90)),
            of(0, "helper", spawned(0, 1, world=1, pid=8, parent=7), first=NOW),
        ],
        at_lines(41),
    ),
    "a helper that has ended before its parent joined": (
        ONE,
        [
            of(0, "main", spawned(0, 9, world=1, pid=7, parent=1)),
            of(0, "helper", spawned(0, 1, world=1, pid=8, parent=7, stage="ended")),
        ],
        at_lines(9),
    ),
    "torchrun has replaced a process": (
        a_job(1),
        [
            of(0, "old", a_report(0, world=1, pid=11), received=at(-60)),
            of(0, "new", spawned(0, 3, world=1, pid=12), first=at(-50)),
        ],
        at_lines(3),
    ),
    "it has replaced one that ended": (
        a_job(1),
        [
            of(0, "old", a_report(0, world=1, pid=11, stage="ended")),
            of(0, "new", spawned(0, 3, world=1, pid=12), first=at(-50)),
        ],
        at_lines(3),
    ),
    "both are gone": (
        a_job(1),
        [
            of(0, "old", a_report(0, world=1, pid=11), received=at(-60)),
            of(0, "new", spawned(0, 3, world=1, pid=12, stage="ended"), first=at(-50)),
        ],
        at_lines(3),
    ),
    "a process of a pod that is not there any more": (
        a_job(2),
        [an_entry(spawned(0, 3, world=2)), an_entry(spawned(1, 4, world=2), pod_uid="old")],
        at_lines(3, None),
    ),
    "a rank beyond the group": (
        a_job(2),
        [an_entry(spawned(7, 3, world=2), 0), spawned(1, 4, world=2)],
        at_lines(3, 4),
    ),
    "ranks of a smaller group in each pod": (
        a_job(2),
        [
            of(0, "a", spawned(0, 3, stage="joined", world_size=1)),
            of(1, "b", spawned(0, 4, stage="joined", world_size=1)),
        ],
        at_lines(3, 4),
    ),
}


@pytest.mark.parametrize(("job", "told", "where"), SPEAKERS.values(), ids=SPEAKERS)
def test_who_speaks_for_each_rank(
    job: TrainingJob, told: list[Any], where: list[str | None]
) -> None:
    assert lines(*told, job=job) == where
    assert lines(*reversed(told), job=job) == where


WORLDS: dict[str, tuple[TrainingJob, list[Any], int]] = {
    "as the job asks": (TWO, [child(0, 0, 11, 3)], 4),
    "as torchrun was told": (
        a_job(2),
        [child(0, 0, 11, 3), child(0, 1, 12, 3)],
        4,
    ),
    "not on the word of one process": (a_job(2), [child(0, 0, 11, 3)], 2),
    "not as a single claim that costs the operator dear": (
        a_job(2),
        [joining(0, world=10_000_000), joining(1, world=10_000_000)],
        2,
    ),
    "not where they disagree": (
        a_job(2),
        [joining(0, world=2), child(1, 1, 11, 3, stage="joining")],
        2,
    ),
    "fewer than asked, one of each pod": (
        TWO,
        [joining(0, world=2), joining(1, world=2)],
        2,
    ),
}


@pytest.mark.parametrize(("job", "told", "world"), WORLDS.values(), ids=WORLDS)
def test_how_many_ranks_there_are(job: TrainingJob, told: list[Any], world: int) -> None:
    assert len(looked_at(*told, job=job).ranks) == world


def test_a_rank_stands_where_it_said_last() -> None:
    report = a_report(1, waits_in="backward", told={"step": 5}, steps=3, stage_seconds=60)
    found = looked_at(long_ago(report, 40), pods=[a_pod(0), a_pod(1, node="node-b"), a_pod(2)])
    assert found.ranks[1] == RankStanding(
        rank=1,
        instance=1,
        pod="mnist-worker-0",
        node="node-b",
        stage=Stage.STEPPING,
        since=at(-100),
        step=5,
        rate=2.0,
        line="train.py:41",
        waits_in="backward",
        silent=True,
    )


def test_a_rank_that_was_never_heard_of_has_a_pod_all_the_same() -> None:
    found = looked_at(a_report(0), pods=[a_pod(0)])
    assert found.ranks[1:] == (
        RankStanding(rank=1, instance=1, pod="mnist-worker-0"),
        RankStanding(rank=2, instance=2, pod="mnist-worker-1"),
    )


@pytest.mark.parametrize(
    ("entry", "pod", "silent"),
    [
        pytest.param(long_ago(a_report(1), 19), a_pod(1), False, id="three reports are late"),
        pytest.param(long_ago(a_report(1), 20), a_pod(1), True, id="and the grace is over"),
        pytest.param(long_ago(a_report(1, stage="ended"), 99), a_pod(1), False, id="it ended"),
        pytest.param(long_ago(a_report(1), 99), ended(1, 0), False, id="its pod ended"),
    ],
)
def test_who_is_silent(entry: Entry, pod: Any, silent: bool) -> None:
    found = looked_at(a_report(0), entry, a_report(2), pods=[a_pod(0), pod, a_pod(2)])
    assert found.ranks[1].silent is silent


def test_reports_that_were_asked_for_seldom_are_not_missed_soon() -> None:
    entry = long_ago(a_report(1), 60, interval=at(50) - NOW)
    assert looked_at(entry).ranks[1].silent is False


def test_a_job_without_reports_costs_nothing_and_says_nothing() -> None:
    found = looked_at()
    assert (found.ranks, found.findings, found.headway, found.look_again) == ((), (), None, None)
