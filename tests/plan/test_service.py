"""When a job's service is made, when it is changed, and what is said of it then."""

from dataclasses import replace
from typing import Any

import pytest

from builders import NOW, SERVICE, SITE, a_job, a_pod, at, ended, seen
from trainingjobs.model.observed import Observed
from trainingjobs.model.status import Condition, Phase, Status
from trainingjobs.plan.decide import decide
from trainingjobs.plan.decision import Decision

CREATED = Condition(type="PodsCreated", status="True", reason="x", last_transition_time=NOW)
RUNNING = Status(
    phase=Phase.RUNNING, attempt=1, start_time=at(-60), group_size=3, conditions=[CREATED]
)
ALL_RUN = [a_pod(rank) for rank in range(3)]
EDITED = replace(SERVICE, ports=(80,))


def decided(there: Observed, status: Status = RUNNING, **spec: Any) -> Decision:
    return decide(a_job(status=status, **spec), there, NOW, SITE)


@pytest.mark.parametrize(
    ("ports", "port"),
    [
        pytest.param((29500,), 1031, id="the job's port is another"),
        pytest.param((80,), 29500, id="the service's port is another"),
        pytest.param((29500, 80), 29500, id="a port too many"),
        pytest.param((), 29500, id="no port"),
    ],
)
def test_a_service_with_other_ports_is_changed_and_keeps_its_identity(
    ports: tuple[int, ...], port: int
) -> None:
    there = seen(*ALL_RUN, service=replace(SERVICE, ports=ports))
    decision = decided(there, status=Status(), port=port)
    assert decision.change == (
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "mnist", "namespace": "lab", "uid": "service-1"},
            "spec": {"ports": [{"name": "rendezvous", "port": port}]},
        },
    )
    assert (decision.create, decision.delete, decision.makes) == ((), (), True)
    changed = replace(there, service=replace(SERVICE, ports=(port,)))
    assert not decided(changed, status=decision.status, port=port).acts


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
    assert decision.create[0]["spec"]["ports"] == [{"name": "rendezvous", "port": 1031}]
    assert decision.change == ()


def test_the_service_is_changed_while_lost_pods_are_made() -> None:
    decision = decided(seen(service=EDITED), status=Status())
    assert [item["kind"] for item in (*decision.change, *decision.create)] == [
        "Service",
        *["Pod"] * 3,
    ]
