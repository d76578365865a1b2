"""What a rank said of itself before it died names the first cause, with its line."""

from dataclasses import replace
from typing import Any

import pytest

from builders import NOW, REPORTING, SITE, a_job, a_pod, at, ended, heard, seen
from trainingjobs.model.observed import Observed, Past, PodSeen
from trainingjobs.model.report import Error, Frame
from trainingjobs.model.roll import Entry, Roll
from trainingjobs.model.site import Site
from trainingjobs.model.status import Condition, Failure, Phase, Status
from trainingjobs.plan.decide import decide
from trainingjobs.plan.uncaught import uncaught

CREATED = Condition(type="PodsCreated", status="True", reason="x", last_transition_time=at(-90))
RUNNING = Status(phase=Phase.RUNNING, attempt=1, conditions=[CREATED], plan_hash="")
LINE = "ValueError: no such label: 11 (train.py:12)"
PEER = "RuntimeError"
PEER_WORDS = "[gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.7]:22911"


def error(kind: str = "ValueError", message: str = "no such label: 11", line: int = 12) -> Error:
    return Error(
        type=kind, message=message, frame=Frame(file="train.py", line=line, function="main")
    )


def told(*pods: PodSeen, roll: tuple[Entry, ...] = (), **there: Any) -> Failure:
    failure = status_after(seen(*pods, roll=Roll(entries=roll), **there)).failure
    assert failure is not None
    return failure


def status_after(there: Observed, site: Site = SITE, **spec: Any) -> Status:
    return decide(a_job(3, status=RUNNING, **spec), there, NOW, site).status


def test_the_exception_and_its_line_end_what_the_container_left() -> None:
    pods = [a_pod(0), ended(1, 1, message="step 7\nValueError: no such label: 11"), a_pod(2)]
    failure = told(*pods, roll=(heard(1, error=error()),))
    assert failure.message == f"step 7\n{LINE}"
    assert (failure.rank, failure.exit_code, failure.reason) == (1, 1, "Error")


@pytest.mark.parametrize(
    ("left", "message"),
    [
        pytest.param("", LINE, id="nothing"),
        pytest.param("step 7\n", f"step 7\n{LINE}", id="its log alone"),
        pytest.param("[rank1]: ValueError: no such label: 11\n", LINE, id="torch's own trace"),
        pytest.param("ChildFailedError:\n====", f"ChildFailedError:\n====\n{LINE}", id="torchrun"),
        pytest.param("x" * 4096, f"{'x' * (1023 - len(LINE))}\n{LINE}", id="too much"),
    ],
)
def test_whatever_the_container_left_the_exception_comes_last(left: str, message: str) -> None:
    pods = [a_pod(0), ended(1, 1, message=left), a_pod(2)]
    assert told(*pods, roll=(heard(1, error=error()),)).message == message


def test_it_is_known_when_the_pod_is_gone() -> None:
    past = Past(vanished={(1, 1): at(-3)})
    roll = (heard(1, received=-4, error=error()),)
    status = status_after(seen(a_pod(0), a_pod(2), past=past, roll=Roll(entries=roll)))
    assert status.failure is not None
    assert status.failure.message.endswith(LINE)
    assert (status.failure.reason, status.failure.time) == ("Error", at(-4))
    assert (status.restarts, status.disruptions) == (1, 0)
    assert status.message == f"rank 1 (mnist-worker-0) was ended: {LINE}"


def test_a_pod_that_is_gone_and_only_complained_of_another_was_taken() -> None:
    past = Past(vanished={(1, 1): at(-3)})
    roll = (heard(1, received=-4, error=error(PEER, PEER_WORDS)),)
    status = status_after(seen(a_pod(0), a_pod(2), past=past, roll=Roll(entries=roll)))
    assert status.failure is not None
    assert status.failure.reason == "Gone"
    assert status.failure.message.startswith("the pod no longer exists\nRuntimeError")
    assert (status.restarts, status.disruptions) == (0, 1)


def test_who_was_told_to_go_is_a_disruption_whatever_it_raises() -> None:
    leaves = a_pod(1, deletion_requested=at(-20))
    roll = Roll(entries=(heard(1, received=-15, error=error("KeyboardInterrupt", "")),))
    status = status_after(seen(a_pod(0), leaves, a_pod(2), roll=roll))
    assert (status.restarts, status.disruptions) == (0, 1)
    assert status.failure is not None
    assert (status.failure.reason, status.failure.time) == ("Deleted", at(-20))


@pytest.mark.parametrize("order", [(1, 0, 2), (0, 1, 2), (2, 1, 0)])
def test_the_exception_that_came_first_is_the_cause_though_all_end_in_one_second(
    order: tuple[int, ...],
) -> None:
    """All three end in the same second; rank 1 was first, and its victims say nothing of a peer."""
    pods = {rank: ended(rank, 1, message="") for rank in order}
    moments = {1: -60.9, 0: -60.5, 2: -60.2}
    roll = tuple(heard(rank, received=moments[rank], error=error()) for rank in order)
    failure = told(*(pods[rank] for rank in order), roll=roll)
    assert (failure.rank, failure.victims) == (1, "0,2")


def test_an_exception_of_its_own_comes_before_those_of_its_victims() -> None:
    """Victims may die and be heard of first, within the second."""
    roll = (
        heard(0, received=-60.0, error=error(PEER, PEER_WORDS)),
        heard(1, received=-59.5, error=error()),
    )
    failure = told(ended(0, 1), ended(1, 1), a_pod(2), roll=roll)
    assert (failure.rank, failure.victims) == (1, "0")


def test_noise_of_other_threads_makes_no_victim_of_the_guilty() -> None:
    noise = "[W] Connection reset by peer"
    roll = (heard(1, received=-60, error=error()),)
    failure = told(ended(0, 1, message="boom"), ended(1, 1, message=noise), a_pod(2), roll=roll)
    assert (failure.rank, failure.message) == (1, f"{noise}\n{LINE}")


def test_a_container_that_ends_long_after_its_exception_is_first_all_the_same() -> None:
    """A launcher looks after its processes every few seconds, and tears down slowly."""
    roll = (heard(1, received=-70, stage="ended", stage_seconds=2.0, error=error()),)
    failure = told(ended(0, 1, after=-5), ended(1, 1, after=10), a_pod(2), roll=roll)
    assert failure.rank == 1
    assert uncaught(Roll(entries=roll))[1].time == at(-72)


def test_an_exception_comes_before_its_victims_though_its_container_has_not_ended() -> None:
    """A busy node tells of a victim's end first: what the guilty process told is known before."""
    roll = (
        heard(2, received=-62, error=error()),
        heard(0, received=-61, error=error(PEER, PEER_WORDS)),
    )
    failure = told(ended(0, 1), a_pod(1), a_pod(2), roll=roll)
    assert (failure.rank, failure.victims) == (2, "0")
    assert failure.message.endswith(LINE)


def test_the_end_of_a_container_whose_exception_is_known_is_waited_for() -> None:
    roll = (heard(2, received=-5, error=error()),)
    victim = replace(ended(0, 1, after=56), noticed_end=at(-4))
    there = seen(victim, a_pod(1), a_pod(2), roll=Roll(entries=roll))
    assert status_after(there).failure is None
    assert status_after(replace(there, roll=Roll())).failure is not None, "nothing to wait for"


def test_a_launcher_only_tells_that_a_rank_failed() -> None:
    roll = (
        heard(None, instance=1, launcher=True, error=error("ChildFailedError", "x")),
        heard(2, instance=1, received=1, error=error(PEER, PEER_WORDS)),
        heard(3, instance=1, received=2, error=error()),
    )
    assert uncaught(Roll(entries=roll))[1].sentence == LINE


def test_an_exception_that_was_overcome_is_past() -> None:
    """A rank may be started anew in its pod: what ended its first life did not end the pod."""
    first = heard(1, process="one", received=-40, error=error())
    second = heard(1, process="two", received=-10)
    assert uncaught(Roll(entries=(second, first))) == {}
    failure = told(a_pod(0), ended(1, 137, reason="OOMKilled"), a_pod(2), roll=(first, second))
    assert (failure.reason, failure.message) == ("OOMKilled", "")


@pytest.mark.parametrize("stage", ["stepping", "ended"])
@pytest.mark.parametrize("rank", [1, None])
def test_what_a_rank_has_started_neither_hides_nor_replaces_its_exception(
    rank: int | None, stage: str
) -> None:
    """A compiler's worker or a probe has the rank's environment, and came later."""
    own = heard(1, pid=7, received=-60, stage=stage, steps=3, error=error())
    for said in ({}, {"error": error("ImportError", "no such probe")}):
        worker = heard(
            rank, instance=1, process="w", pid=9, parent=7, received=-61, stage="spawned", **said
        )
        late = replace(worker, first=at(-50))
        assert uncaught(Roll(entries=(own, late)))[1].sentence == LINE
        assert uncaught(Roll(entries=(replace(own, report=own.report.model_copy(
            update={"error": None})), late))) == {}  # fmt: skip


def test_what_no_rank_has_started_is_the_jobs_own() -> None:
    """Its parent has the environment of rank 1 too, and only starts ranks."""
    parent = heard(1, process="parent", pid=7, received=-70, stage="spawned")
    child = heard(1, process="child", pid=9, parent=7, received=-60, error=error())
    elsewhere = heard(2, pid=7, stage="stepping", steps=3)
    assert uncaught(Roll(entries=(parent, child, elsewhere)))[1].sentence == LINE


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (Error(type="ValueError"), "ValueError"),
        (Error(type="ValueError", message="a\n\tb\x1b"), "ValueError: a b�"),
        (error(message=""), "ValueError (train.py:12)"),
    ],
)
def test_a_sentence_is_made_of_what_there_is(said: Error, sentence: str) -> None:
    assert uncaught(Roll(entries=(heard(0, error=said),)))[0].sentence == sentence


MISSING = error("ModuleNotFoundError", "No module named 'shop'", 1)
HINT = "if the image sets PYTHONPATH"


def missing(site: Site = REPORTING, env: tuple[Any, ...] = (), **spec: Any) -> str:
    roll = Roll(entries=(heard(1, error=MISSING),))
    template = {"spec": {"containers": [{"name": "trainer", "image": "m", "env": list(env)}]}}
    there = seen(a_pod(0), ended(1, 1), a_pod(2), roll=roll)
    return status_after(there, site, template=template, **spec).message


def test_a_module_that_may_be_hidden_by_our_path_is_told_with_what_to_do() -> None:
    said = missing()
    assert "No module named 'shop' (train.py:1); " in said
    assert HINT in said
    assert said.endswith("or use rollCall: Disabled")
    last = missing(maxRestarts=0)
    assert HINT in last
    assert last.endswith("(restarted 0 of 0 times)")


def test_where_our_path_hides_nothing_nothing_is_said_of_it() -> None:
    assert HINT not in missing(env=({"name": "PYTHONPATH", "value": "/mine"},))
    assert HINT not in missing(SITE)
    assert HINT not in missing(rollCall="Disabled")
