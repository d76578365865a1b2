"""What the resource says: conditions, counts and sentences."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import NOW, a_job, a_pod, at, ended, pending, seen, starting
from trainingjobs.model.observed import PodSeen
from trainingjobs.model.status import Condition, Failure, Phase, Status
from trainingjobs.model.text import MAX_MESSAGE
from trainingjobs.model.verdict import Step, Verdict
from trainingjobs.status import conditions, sentences
from trainingjobs.status.report import report
from trainingjobs.status.standing import standing

RUN = Verdict(step=Step.RUN)


def truths(status: Status) -> dict[str, str]:
    return {item.type: item.status for item in status.conditions}


def test_a_running_job_says_so_in_every_way() -> None:
    status = report(a_job(), seen(*(a_pod(rank) for rank in range(3))), RUN, NOW)
    assert truths(status) == {
        "PodsCreated": "True",
        "Running": "True",
        "Suspended": "False",
        "Succeeded": "Unknown",
        "Failed": "False",
        "Finished": "False",
    }
    assert all(item.observed_generation == 1 for item in status.conditions)
    assert (status.observed_generation, status.master_address) == (1, "mnist-master.mnist:29500")


@pytest.mark.parametrize(
    ("step", "phase", "succeeded", "failed"),
    [
        (Step.SUCCEED, Phase.SUCCEEDED, "True", "False"),
        (Step.FAIL, Phase.FAILED, "False", "True"),
    ],
)
def test_one_wait_serves_both_ends(step: Step, phase: Phase, succeeded: str, failed: str) -> None:
    status = report(a_job(), seen(), Verdict(step=step, reason="Why", message="so"), NOW)
    found = truths(status)
    assert (status.phase, found["Finished"]) == (phase, "True")
    assert (found["Succeeded"], found["Failed"], found["Running"]) == (succeeded, failed, "False")


def test_a_condition_keeps_its_time_while_it_holds() -> None:
    there = seen(*(a_pod(rank) for rank in range(3)))
    first = report(a_job(), there, RUN, NOW)
    second = report(a_job(status=first), there, RUN, at(60))
    assert second == first


def test_a_foreign_condition_stays() -> None:
    foreign = Condition(type="Mine", status="True", reason="x", last_transition_time=NOW)
    (kept,) = conditions.merged([foreign], [])
    assert kept == foreign


@given(
    st.lists(
        st.sampled_from(
            [a_pod, pending, starting, lambda rank: ended(rank, 0), lambda r: ended(r, 1)]
        ),
        max_size=5,
    ),
    st.permutations(range(5)),
)
def test_every_rank_is_counted_once_in_whatever_order(kinds: list, order: list[int]) -> None:  # type: ignore[type-arg]
    pods = [kind(rank) for rank, kind in enumerate(kinds)]
    shuffled = [pods[index] for index in order if index < len(pods)]
    found = [standing(5, seen(*some), 1, frozenset()) for some in (pods, shuffled)]
    assert sum(found[0].counts.model_dump().values()) == 5
    assert found[0].counts == found[1].counts


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (
            Failure(rank=1, pod="p", node="n", exit_code=3, reason="Error", message="a\nlast"),
            "rank 1 (p on n) exited with code 3: last",
        ),
        (
            Failure(rank=0, pod="p", exit_code=137, reason="OOMKilled"),
            "rank 0 (p) exited with code 137 (OOMKilled)",
        ),
        (Failure(rank=2, pod="p", reason="Deleted"), "rank 2 (p) was deleted"),
        (Failure(rank=2, pod="p", reason="Gone", message="no more"), "rank 2 (p) is gone: no more"),
        (
            Failure(rank=2, pod="p", node="n", reason="Evicted"),
            "rank 2 (p on n) was ended (Evicted)",
        ),
    ],
)
def test_how_a_rank_fell(failure: Failure, words: str) -> None:
    assert sentences.fallen(failure) == words


@pytest.mark.parametrize(
    ("pods", "words"),
    [
        ({}, None),
        ({0: a_pod(0)}, None),
        ({0: pending(0)}, None),
        (
            {0: pending(0, words="no room")},
            "rank 0 (mnist-master) cannot be scheduled: no room",
        ),
        (
            {1: starting(1, reason="CreateContainerConfigError", message="no configmap x")},
            "rank 1 (mnist-worker-0) waits, CreateContainerConfigError: no configmap x",
        ),
    ],
)
def test_what_a_rank_waits_for(pods: dict[int, PodSeen], words: str | None) -> None:
    block = sentences.waiting(pods)
    assert (block and block.message) == words


@given(st.text(max_size=3000))
def test_a_sentence_is_one_line_and_bounded(text: str) -> None:
    line = sentences.cut(text)
    assert len(line) <= MAX_MESSAGE
    assert len(line.splitlines()) <= 1
