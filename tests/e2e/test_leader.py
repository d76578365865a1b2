"""Two replicas on a real cluster: reports and the open page follow the leader; that is no stall."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e import jobs, looking
from e2e.deployed import Operator
from e2e.harness import Manifest, Namespace

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

TELLING = Path(__file__).with_name("telling.py").read_text()
TAKEOVER = 15
STALL = 10


@pytest.fixture
def pair(operator: Operator) -> Iterator[Operator]:
    with operator.replicas(2):
        yield operator


def step(status: Manifest) -> int:
    """The last step that was told."""
    return int((status.get("training") or {}).get("step") or 0)


def stalled(status: Manifest) -> bool:
    """Whether it says that nobody moves."""
    return any(
        it["type"] == "Stalled" and it["status"] == "True" for it in status.get("conditions", [])
    )


def test_reports_go_on_to_the_next_leader(lab: Namespace, pair: Operator) -> None:
    """Of a killed process the next one of its pod may lead, of a pod that is taken away another."""
    template = jobs.a_template(TELLING, STEPS="60")
    lab.apply(jobs.a_job("told", 2, template, stallTimeoutSeconds=STALL))
    before = step(lab.wait_for("told", lambda status: step(status) > 0))
    with looking.at(lab, "told") as page:
        page.tells(before, seconds=30)
        followed(lab, pair, page, before)
    end = lab.wait_for_end("told")
    assert (end["phase"], end["attempt"], end["restarts"]) == ("Succeeded", 1, 0)
    events = json.loads(lab.kubectl("get", "events", "-o", "json"))["items"]
    assert not [it["message"] for it in events if it["reason"] == "Stalled"]


def followed(lab: Namespace, pair: Operator, page: looking.Page, before: int) -> None:
    """First the process of the leader is killed, then its pod is taken away."""
    first, since = pair.leader(), pair.led_since()
    assert pair.behind_the_service() == [first]
    pair.kill(first)
    pair.wait_for_leader(lambda pod: bool(pod) and pair.led_since() > since, seconds=2 * TAKEOVER)
    took = (pair.led_since() - pair.killed_at(first)).total_seconds()
    pair.wait_behind_the_service(lambda pods: pods == [pair.leader()])
    status = lab.wait_for("told", lambda status: step(status) > before + TAKEOVER)
    print(f"followed {took:.1f} s after the kill")  # noqa: T201
    assert took < TAKEOVER
    assert not stalled(status)
    page.tells(before + TAKEOVER, seconds=30)
    second, before = pair.leader(), step(status)
    pair.remove(second)
    pair.wait_for_leader(lambda pod: pod not in {"", second}, seconds=2 * TAKEOVER)
    pair.wait_behind_the_service(lambda pods: pods == [pair.leader()])
    assert not stalled(lab.wait_for("told", lambda status: step(status) > before + 5))
    page.tells(before + 5, seconds=30)
