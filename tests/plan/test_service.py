"""When a job's service is made, when it is changed, and what is said of it then."""

from dataclasses import replace
from typing import Any

import pytest

from builders import NOW, SERVICE, SITE, UID, a_job, a_pod, at, ended, seen, service_spec
from cluster.fakeapi import merged
from trainingjobs.model.observed import Observed
from trainingjobs.model.status import Condition, Phase, Status
from trainingjobs.plan.decide import decide
from trainingjobs.plan.decision import Decision

CREATED = Condition(type="PodsCreated", status="True", reason="x", last_transition_time=NOW)
RUNNING = Status(
    phase=Phase.RUNNING, attempt=1, start_time=at(-60), group_size=3, conditions=[CREATED]
)
ALL_RUN = [a_pod(rank) for rank in range(3)]
EDITED = replace(SERVICE, spec=service_spec(80))
SELECTOR = {"trainingjob.dev/job-uid": UID}
WANTED = service_spec()


def decided(there: Observed, status: Status = RUNNING, **spec: Any) -> Decision:
    return decide(a_job(status=status, **spec), there, NOW, SITE)


@pytest.mark.parametrize(
    ("found", "changes"),
    [
        pytest.param(service_spec(80), {"ports": WANTED["ports"]}, id="another port"),
        pytest.param(
            service_spec(ports=[*WANTED["ports"], {"port": 80}]),
            {"ports": WANTED["ports"]},
            id="a port too many",
        ),
        pytest.param(service_spec(ports=[]), {"ports": WANTED["ports"]}, id="no port"),
        pytest.param(
            service_spec(ports=[{**WANTED["ports"][0], "targetPort": 80}]),
            {"ports": WANTED["ports"]},
            id="a port that leads elsewhere",
        ),
        pytest.param(
            service_spec(selector={"app": "theirs"}),
            {"selector": {"app": None, **SELECTOR}},
            id="another selector",
        ),
        pytest.param(
            service_spec(selector={**SELECTOR, "app": "theirs"}),
            {"selector": {"app": None, **SELECTOR}},
            id="a selector of fewer pods",
        ),
        pytest.param(service_spec(selector=None), {"selector": SELECTOR}, id="no selector"),
        pytest.param(
            service_spec(publishNotReadyAddresses=False),
            {"publishNotReadyAddresses": True},
            id="pods have names once they are ready, which the rendezvous waits for",
        ),
        pytest.param(
            service_spec(type="ExternalName", clusterIP=""),
            {"type": "ClusterIP", "clusterIP": "None"},
            id="a name for something else",
        ),
        pytest.param(
            service_spec(clusterIP="10.0.0.7"),
            {"clusterIP": "None"},
            id="an address of its own, which the API server keeps",
        ),
    ],
)
def test_what_was_edited_of_a_service_is_set_right_and_no_more(
    found: dict[str, Any], changes: dict[str, Any]
) -> None:
    there = seen(*ALL_RUN, service=replace(SERVICE, spec=found))
    decision = decided(there, status=Status())
    assert decision.change == (
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "mnist", "namespace": "lab", "uid": "service-1"},
            "spec": changes,
        },
    )
    assert (decision.create, decision.delete, decision.makes) == ((), (), True)
    changed = replace(there, service=replace(SERVICE, spec=merged(found, changes)))
    assert not decided(changed, status=decision.status).acts


def test_a_service_follows_the_port_of_its_job() -> None:
    (patch,) = decided(seen(*ALL_RUN), port=1031).change
    assert patch["spec"] == {"ports": service_spec(1031)["ports"]}


@pytest.mark.parametrize(
    ("there", "spec"),
    [
        pytest.param(seen(*ALL_RUN), {}, id="it is as wanted"),
        pytest.param(seen(*ALL_RUN, service=EDITED), {"suspend": True}, id="the job stops"),
        pytest.param(seen(service=EDITED), {"suspend": True}, id="the job is suspended"),
        pytest.param(
            seen(a_pod(0, attempt=2), service=EDITED), {}, id="pods of another attempt go first"
        ),
        pytest.param(
            seen(*(ended(rank, 0) for rank in range(3)), service=EDITED), {}, id="the end"
        ),
    ],
)
def test_a_service_is_left_as_it_is(there: Observed, spec: Any) -> None:
    assert decided(there, **spec).change == ()


def test_a_service_that_is_not_there_is_made_with_the_port_and_not_changed() -> None:
    decision = decided(seen(service=None), status=Status(), port=1031)
    assert decision.create[0]["spec"]["ports"] == service_spec(1031)["ports"]
    assert decision.change == ()


def test_the_service_is_changed_while_lost_pods_are_made() -> None:
    decision = decided(seen(service=EDITED), status=Status())
    assert [item["kind"] for item in (*decision.change, *decision.create)] == [
        "Service",
        *["Pod"] * 3,
    ]
