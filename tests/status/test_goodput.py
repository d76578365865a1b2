"""Every second of a job is accounted for once, and no write is made for that alone."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builders import NOW, a_job, a_pod, at, ended, pending, seen
from status.given import RUN, STANDS, STEPS, healthy, told
from trainingjobs.model.finding import Diagnosis, Headway
from trainingjobs.model.status import Attempt, Condition, Phase, Status
from trainingjobs.model.training import Goodput, Training
from trainingjobs.model.verdict import Step, Verdict
from trainingjobs.status import goodput
from trainingjobs.status.report import report

LIVE = [Phase.PENDING, Phase.STARTING, Phase.RUNNING, Phase.RESTARTING]
STATE = {Phase.PENDING: "queued", Phase.STARTING: "starting", Phase.RESTARTING: "lost"}


def status(phase: Phase | None = Phase.RUNNING, *, stalled: bool = False, **more: object) -> Status:
    """A status that speaks of this phase, accounted for up to now."""
    fact = Condition(
        type="Stalled",
        status="True" if stalled else "False",
        reason="Why",
        last_transition_time=NOW,
    )
    known = {"phase": phase, "start_time": NOW, "accounted_time": NOW, "conditions": [fact]}
    return Status.model_validate({**known, **more})


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(st.tuples(st.sampled_from(LIVE), st.booleans(), st.integers(0, 1000))))
def test_the_seconds_add_up(lives: list[tuple[Phase, bool, int]]) -> None:
    """Whatever phases follow each other, each second is in the state that was told then."""
    last, now = Status(), NOW
    wanted = dict.fromkeys(goodput.STATES, 0)
    for phase, stalled, passed in [*lives, (Phase.SUCCEEDED, False, 0)]:
        fresh = status(phase, stalled=stalled, goodput=last.goodput, message=str(now))
        last = goodput.accounted(last, fresh, now)
        assert sum(goodput.seconds(last.goodput).values()) == (now - NOW).total_seconds()
        if phase in LIVE:
            running = "stalled" if stalled else "training"
            wanted[STATE.get(phase, running)] += passed
            now += timedelta(seconds=passed)
    assert goodput.seconds(last.goodput) == wanted
    assert goodput.until(last, at(10_000)) == last.goodput


@pytest.mark.parametrize("clock", [[60, -600, 0, 60], [60, 30, 60]])
def test_a_clock_that_is_put_back_counts_no_second_twice(clock: list[int]) -> None:
    last = status()
    for number, seconds in enumerate(clock):
        last = goodput.accounted(
            last, status(goodput=last.goodput, message=f"{number}"), at(seconds)
        )
    assert (last.goodput.training_seconds, last.accounted_time) == (60, at(60))


def test_nothing_new_is_nothing_to_account_for() -> None:
    old = status()
    assert goodput.accounted(old, old, at(60)) is old
    there = seen(*(a_pod(rank) for rank in range(3)))
    first = report(a_job(), there, RUN, NOW)
    assert report(a_job(status=first), there, RUN, at(60)) == first


@pytest.mark.parametrize(
    ("step", "counted_by", "state"),
    [
        (50, "Script", "lost"),
        (100, "Script", "training"),
        (120, "Script", "training"),
        (50, "Optimizer", "training"),
    ],
)
def test_steps_that_are_done_again_are_lost(step: int, counted_by: str, state: str) -> None:
    past = [
        Attempt(attempt=1, end_time=NOW, reason="Error", step=100),
        Attempt(attempt=2, end_time=NOW, reason="Error", step=40),
        Attempt(attempt=3, end_time=NOW, reason="Error"),
    ]
    training = Training.model_validate({"step": step, "counted_by": counted_by})
    spent = goodput.until(status(attempts=past, training=training), at(60))
    assert goodput.seconds(spent)[state] == 60


@pytest.mark.parametrize(
    ("spent", "ratio"),
    [({}, "100%"), ({"lost_seconds": 60}, "50%"), ({"queued_seconds": 30}, "66%")],
)
def test_the_ratio_is_what_was_trained(spent: dict[str, int], ratio: str) -> None:
    assert goodput.until(status(goodput=Goodput(**spent)), at(60)).ratio == ratio


@pytest.mark.parametrize(
    "known", [status(Phase.SUSPENDED), status(Phase.FAILED), status(None), Status()]
)
def test_no_clock_runs(known: Status) -> None:
    assert goodput.until(known, at(60)) == Goodput()


def test_a_clock_that_goes_back_takes_nothing_away() -> None:
    known = status(goodput=Goodput(training_seconds=5))
    assert goodput.until(known, at(-60)).training_seconds == 5


def life(*looks: tuple[datetime, Verdict, Diagnosis]) -> Status:
    """The last status of a job that was looked at in this way."""
    last = Status()
    for now, verdict, diagnosis in looks:
        last = told(diagnosis, after=last, now=now, verdict=verdict)
    return last


def test_a_life_with_a_stall_and_a_restart() -> None:
    step = Headway(step=20, told=True)
    stalls, goes = healthy(stalled=STANDS, headway=step), healthy(stalled=STEPS, headway=step)
    again = Verdict(step=Step.RESTART, reason="Stalled", message="rank 1 stands")
    restarting = replace(a_job(), status=life((NOW, RUN, goes), (at(100), RUN, stalls)))
    lost = told(stalls, job=restarting, now=at(140), verdict=again)
    assert goodput.seconds(lost.goodput) == {
        "queued": 0,
        "starting": 0,
        "training": 100,
        "stalled": 40,
        "lost": 0,
    }
    waiting = report(a_job(status=lost), seen(ended(0, 0)), Verdict(step=Step.WAIT), at(141))
    there = seen(*(pending(rank, attempt=2) for rank in range(3)))
    queued = report(a_job(status=waiting), there, RUN, at(150))
    final = Verdict(step=Step.FAIL, reason="DeadlineExceeded", message="too late")
    over = report(a_job(status=queued), there, final, at(157))
    assert goodput.seconds(over.goodput) == {
        "queued": 7,
        "starting": 0,
        "training": 100,
        "stalled": 40,
        "lost": 10,
    }
    assert (over.goodput.ratio, over.completion_time) == ("63%", at(157))


def test_a_suspended_job_has_no_clock_and_goes_on_with_its_sum() -> None:
    off = Verdict(step=Step.SUSPEND, reason="Suspended", message="suspended")
    stopped = life((NOW, RUN, healthy()), (at(60), off, healthy()), (at(600), off, healthy()))
    assert (stopped.start_time, stopped.accounted_time) == (None, None)
    assert goodput.seconds(stopped.goodput)["training"] == 60
    there = seen(*(a_pod(rank, attempt=2) for rank in range(3)))
    resumed = report(a_job(status=stopped), there, RUN, at(700))
    assert (resumed.goodput.training_seconds, resumed.accounted_time) == (60, at(700))
    done = Verdict(step=Step.SUCCEED, reason="Completed", message="done")
    over = report(a_job(status=resumed), there, done, at(710))
    assert sum(goodput.seconds(over.goodput).values()) == 70
