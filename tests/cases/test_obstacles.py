"""What keeps a group from starting: who has to do something about it, and for how long we wait."""

from dataclasses import replace
from typing import Any

import pytest

from builders import NOW, a_pod, at, pending, seen, starting
from cases.given import decided, going, waiting
from cluster.fakeapi import FakeApi
from cluster.raw import raw_pod
from test_reconcile import JOB, PODS, Lab
from trainingjobs.cluster import errors
from trainingjobs.cluster.errors import ApiError
from trainingjobs.model.observed import Problem, Trouble
from trainingjobs.model.status import Phase

QUOTA = Problem(trouble=Trouble.QUOTA, name="mnist-worker-1", message="exceeded quota: pods=2")
DENIED = "ValidatingAdmissionPolicy 'no' with binding 'no' denied request: not today"


@pytest.mark.parametrize("pods", [[], [a_pod(0), a_pod(1)]], ids=["none is made", "a part runs"])
def test_a_start_that_is_refused_takes_no_longer_than_it_may(pods: list[Any]) -> None:
    there = seen(*pods, problems=(QUOTA,))
    limits = {"startupTimeoutSeconds": 60, "placementTimeoutSeconds": 600}
    early = decided(there, waiting(attempt_start_time=at(-59)), **limits)
    assert (early.status.phase, early.wake_at) == (Phase.PENDING, at(1))
    late = decided(there, waiting(), **limits).status
    assert late.phase is Phase.FAILED
    assert late.message == (
        f"not all instances ran 60 s after start: {len(pods)} of 3 pods created, then quota "
        "refused mnist-worker-1: exceeded quota: pods=2"
    )


def test_a_group_that_ran_once_is_not_slow_to_start() -> None:
    there = seen(a_pod(0), a_pod(1, phase="Unknown", running=False), a_pod(2))
    assert decided(there, startupTimeoutSeconds=60).status.phase is Phase.STARTING


@pytest.mark.parametrize(
    "limit",
    ["activeDeadlineSeconds", "startupTimeoutSeconds"],
)
async def test_a_limit_is_kept_though_nothing_is_ever_heard_of_the_pods(limit: str) -> None:
    """As with a scheduler that is not there: no event follows the creates."""
    lab = Lab(**{limit: 60})
    wait = await lab.look()
    assert wait == 60
    lab.seconds += wait
    await lab.settle()
    assert lab.status["phase"] == "Failed"


@pytest.mark.parametrize("status", [400, 403, 422])
@pytest.mark.parametrize("words", [DENIED, 'admission webhook "no" denied the request: not today'])
def test_a_policy_that_says_no_may_say_yes_later(status: int, words: str) -> None:
    error = ApiError(status, "Invalid", f'pods "mnist-master" is forbidden: {words}')
    assert errors.trouble(error) is Trouble.FORBIDDEN


async def test_a_policy_that_gives_in_is_noticed() -> None:
    lab = Lab()
    lab.api.refuse = lambda method, path: (
        ApiError(422, "Invalid", DENIED) if (method, path) == ("POST", PODS) else None
    )
    await lab.look()
    assert lab.status["phase"] == "Pending"
    assert "not today" in lab.status["message"]
    (created,) = (it for it in lab.status["conditions"] if it["type"] == "PodsCreated")
    assert (created["status"], created["reason"]) == ("False", "Forbidden")
    lab.api.refuse = lambda *_: None
    lab.seconds += 1
    await lab.settle()
    assert len(lab.pods) == 3


def leaving_pod(api: FakeApi) -> None:
    """A pod of a job of the same name, which was deleted a moment ago."""
    old = raw_pod(0, uid="old")
    old["metadata"] |= {
        "name": "mnist-master",
        "deletionTimestamp": "2026-03-01T12:00:30Z",
        "ownerReferences": [],
    }
    api.add(f"{PODS}/mnist-master", old)


async def test_a_pod_of_before_is_waited_for_and_missed_at_once() -> None:
    lab = Lab()
    leaving_pod(lab.api)
    for _ in range(12):
        wait = await lab.look()
        assert wait is not None
        assert wait <= 2
        lab.seconds += wait
    assert lab.status["phase"] == "Pending"
    assert lab.status["message"] == ("Pod mnist-master of before is still being deleted")
    reasons = {it["type"]: it["reason"] for it in lab.status["conditions"]}
    assert reasons["Running"] == "WaitingForOldPods"
    del lab.api.objects[f"{PODS}/mnist-master"]
    lab.seconds += 2
    await lab.settle()
    assert len(lab.pods) == 3
    assert lab.status["message"] == ""


def test_the_lowest_rank_that_waits_is_named_and_the_others_counted() -> None:
    words = "configmap 'x' not found"
    stuck = [starting(rank, reason="CreateContainerConfigError", message=words) for rank in (1, 2)]
    status = decided(seen(a_pod(0), *stuck), going(Phase.STARTING)).status
    assert (status.phase, status.ready) == (Phase.STARTING, "1/3")
    assert status.message == (
        "rank 1 (mnist-worker-0) (and 1 more) waits, CreateContainerConfigError: "
        "configmap 'x' not found"
    )


def test_a_group_without_room_waits_as_long_as_its_user_does() -> None:
    pods = [pending(rank, words="0/1 nodes are available") for rank in range(3)]
    decision = decided(seen(*pods), waiting(), at(10**6))
    assert (decision.status.phase, decision.delete) == (Phase.PENDING, ())


async def test_a_name_of_a_leaving_namespace_is_not_asked_for_again_and_again() -> None:
    lab = Lab()
    causes = {"causes": [{"reason": "NamespaceTerminating", "message": "lab is leaving"}]}
    leaves = ApiError(403, "Forbidden", "unable to create new content", details=causes)
    lab.api.refuse = lambda method, _: leaves if method == "POST" else None
    tries = 0
    while lab.seconds < 600:
        wait = await lab.look()
        tries += sum(method == "POST" for method, _ in lab.api.calls)
        assert wait is not None
        lab.seconds += wait
    assert lab.status["message"] == "the namespace is being deleted"
    assert tries <= 2 * 16
    assert JOB in lab.api.objects


def test_what_a_refusal_counts_is_what_is_there() -> None:
    there = seen(a_pod(0), replace(a_pod(1), running=False), problems=(QUOTA,))
    assert decided(there, waiting(), NOW).status.message.startswith("2 of 3 pods created")
