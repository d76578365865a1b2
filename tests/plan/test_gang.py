"""Which scheduler is told that the pods are one group, in which words, and for how long."""

from dataclasses import replace
from typing import Any

import pytest

from builders import NOW, SITE, UID, a_job, a_pod, at, ended, pending, seen
from trainingjobs.model.gang import Gang, GroupSeen
from trainingjobs.model.job import TrainingJob
from trainingjobs.model.observed import Observed
from trainingjobs.model.spec import Manifest
from trainingjobs.model.status import Condition, Phase, Status
from trainingjobs.plan import gang
from trainingjobs.plan.decide import decide
from trainingjobs.plan.decision import Decision

ALL = frozenset(Gang)
OURS = {"labels": {"scheduling.x-k8s.io/pod-group": "mnist"}}
THEIRS = {"labels": {"scheduling.x-k8s.io/pod-group": "their-own"}}
NOTED = {"annotations": {"scheduling.k8s.io/group-name": "their-own"}}


def test_a_scheduler_without_a_proper_name_gets_no_group() -> None:
    slip = template()
    slip["spec"]["schedulerName"] = {"bogus": [1]}
    assert gang.asked(a_job(template=slip)) is None


def template(scheduler: str | None = None, **more: Any) -> Manifest:
    """A template for a scheduler; `metadata` goes where it belongs."""
    named = {"schedulerName": scheduler} if scheduler else {}
    metadata = {"metadata": more.pop("metadata")} if "metadata" in more else {}
    containers = [{"name": "trainer", "image": "my/trainer:1"}]
    return {**metadata, "spec": {"containers": containers, **named, **more}}


VOLCANO = template("volcano")


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        pytest.param({}, Gang.KUBERNETES, id="the cluster's own scheduler"),
        pytest.param(
            {"template": template("default-scheduler")}, Gang.KUBERNETES, id="the same by name"
        ),
        pytest.param({"template": VOLCANO}, Gang.VOLCANO, id="volcano"),
        pytest.param(
            {"template": template("scheduler-plugins-scheduler")},
            Gang.COSCHEDULING,
            id="coscheduling as a second scheduler",
        ),
        pytest.param(
            {"template": template(metadata=OURS)}, Gang.COSCHEDULING, id="in the default's place"
        ),
        pytest.param({"template": template("mine")}, None, id="a scheduler that nobody knows"),
        pytest.param(
            {"template": template("scheduler-plugins-scheduler", metadata=THEIRS)},
            None,
            id="a coscheduling group of the user's own",
        ),
        pytest.param(
            {"template": template("volcano", metadata=NOTED)},
            None,
            id="a volcano group of the user's own",
        ),
        pytest.param(
            {"template": template(schedulingGroup={"podGroupName": "their-own"})},
            None,
            id="a kubernetes group of the user's own",
        ),
        pytest.param(
            {"template": VOLCANO, "masterTemplate": template()}, None, id="two schedulers, no group"
        ),
        pytest.param(
            {"template": VOLCANO, "masterTemplate": template("volcano")},
            Gang.VOLCANO,
            id="two templates, one scheduler",
        ),
    ],
)
def test_the_templates_say_who_places_the_group(spec: Any, found: Gang | None) -> None:
    assert gang.of(a_job(**spec), ALL) is found
    assert gang.of(a_job(**spec), frozenset()) is None


def made(job: TrainingJob, there: Observed) -> dict[str, Manifest]:
    """What is created, by kind; of the pods the last."""
    decision = decide(job, there, NOW, SITE)
    return {item["kind"]: item for item in decision.create}


def test_volcano_gets_a_pod_group_with_its_queue_and_priority() -> None:
    body = a_job(template=template("volcano", priorityClassName="urgent"))
    job = replace(body, labels={"scheduling.volcano.sh/queue-name": "research"})
    found = made(job, Observed(served=ALL))
    group = found["PodGroup"]
    assert (group["apiVersion"], group["metadata"]["name"]) == (Gang.VOLCANO, "mnist")
    assert group["metadata"]["ownerReferences"][0]["uid"] == UID
    assert group["metadata"]["labels"]["trainingjob.dev/job-uid"] == UID
    spec = {"minMember": 3, "queue": "research", "priorityClassName": "urgent"}
    assert group["spec"] == spec
    assert found["Pod"]["metadata"]["annotations"]["scheduling.k8s.io/group-name"] == "mnist"


def test_volcanos_own_annotation_names_the_queue_as_well() -> None:
    notes = {"annotations": {"scheduling.volcano.sh/queue-name": "research"}}
    job = a_job(template=template("volcano", metadata=notes))
    assert gang.spec(job, Gang.VOLCANO) == {"minMember": 3, "queue": "research"}


def test_coscheduling_gets_a_pod_group_and_a_label() -> None:
    found = made(a_job(template=template("scheduler-plugins-scheduler")), Observed(served=ALL))
    assert found["PodGroup"]["apiVersion"] == Gang.COSCHEDULING
    assert found["PodGroup"]["spec"] == {"minMember": 3}
    assert found["Pod"]["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] == "mnist"
    assert found["Pod"]["metadata"]["labels"]["trainingjob.dev/rank"] == "2"


def test_kubernetes_gets_a_pod_group_that_is_disrupted_as_one() -> None:
    found = made(a_job(template=template(priorityClassName="urgent")), Observed(served=ALL))
    assert found["PodGroup"]["apiVersion"] == Gang.KUBERNETES
    assert found["PodGroup"]["spec"] == {
        "schedulingPolicy": {"gang": {"minCount": 3}},
        "disruptionMode": {"all": {}},
        "priorityClassName": "urgent",
    }
    assert found["Pod"]["spec"]["schedulingGroup"] == {"podGroupName": "mnist"}


def test_where_no_group_is_known_nothing_is_said_of_one() -> None:
    found = made(a_job(), Observed())
    assert set(found) == {"Service", "Pod"}
    assert "schedulingGroup" not in found["Pod"]["spec"]


def test_the_group_comes_before_the_pods_and_is_judged_with_them() -> None:
    decision = decide(a_job(), Observed(served=ALL), NOW, SITE)
    kinds = [item["kind"] for item in decision.create]
    assert kinds == ["PodGroup", "Service", "Pod", "Pod", "Pod"]
    assert decision.check[0]["spec"]["schedulingGroup"] == {"podGroupName": "mnist"}


def test_a_long_name_is_a_legal_one_for_the_group_too() -> None:
    found = made(a_job(name="a.b" * 30), Observed(served=ALL))
    name = found["PodGroup"]["metadata"]["name"]
    assert len(name) <= 63
    assert found["Pod"]["spec"]["schedulingGroup"] == {"podGroupName": name}


@pytest.mark.parametrize(
    ("spec", "needed"),
    [
        pytest.param({}, 3, id="all of a group"),
        pytest.param({"elastic": {"minInstances": 2, "maxInstances": 8}}, 2, id="the least"),
    ],
)
def test_how_many_have_to_find_room_together(spec: Any, needed: int) -> None:
    job = a_job(**spec)
    assert gang.size(job, Gang.VOLCANO) == {"minMember": needed}
    assert gang.size(job, Gang.KUBERNETES) == {"schedulingPolicy": {"gang": {"minCount": needed}}}


GROUP = GroupSeen(gang=Gang.KUBERNETES, name="mnist", uid="group-1", members=3)
CREATED = Condition(type="PodsCreated", status="True", reason="x", last_transition_time=NOW)
RUNNING = Status(
    phase=Phase.RUNNING, attempt=1, start_time=at(-60), group_size=3, conditions=[CREATED]
)
ALL_RUN = [a_pod(rank) for rank in range(3)]


def decided(*pods: Any, groups: Any = (GROUP,), status: Status = RUNNING, **spec: Any) -> Decision:
    there = seen(*pods, groups=groups, served=ALL)
    return decide(a_job(status=status, **spec), there, NOW, SITE)


def touched(decision: Decision) -> list[str]:
    """What becomes of pod groups."""
    kinds = [item["kind"] for item in decision.create]
    return (
        ["made"] * kinds.count("PodGroup")
        + ["changed"] * len(decision.change)
        + ["deleted"] * len(decision.delete_groups)
    )


def test_the_group_stays_while_the_job_runs() -> None:
    assert not decided(*ALL_RUN).acts


def test_the_group_stays_through_a_restart() -> None:
    fell = decided(*ALL_RUN[:2], ended(2, 1))
    assert fell.status.attempt == 2
    assert touched(fell) == []
    gone = decided(status=fell.status)
    assert [item["kind"] for item in gone.create] == ["Pod"] * 3


def test_a_group_that_somebody_deleted_is_made_again_while_pods_need_it() -> None:
    placed = decided(*ALL_RUN, groups=())
    assert touched(placed) == []
    waits = decided(*ALL_RUN[:2], pending(2), groups=())
    assert [item["kind"] for item in waits.create] == ["PodGroup"]


@pytest.mark.parametrize(
    ("pods", "status", "spec"),
    [
        pytest.param(ALL_RUN, RUNNING, {"suspend": True}, id="suspended"),
        pytest.param([ended(rank, 0) for rank in range(3)], RUNNING, {}, id="succeeded"),
        pytest.param([*ALL_RUN[:2], ended(2, 1)], RUNNING, {"maxRestarts": 0}, id="failed"),
        pytest.param(
            [], RUNNING.model_copy(update={"phase": Phase.SUCCEEDED}), {}, id="over long ago"
        ),
        pytest.param(ALL_RUN, RUNNING, {"template": template("mine")}, id="not asked for any more"),
    ],
)
def test_the_group_goes(pods: Any, status: Status, spec: Any) -> None:
    decision = decided(*pods, status=status, **spec)
    assert decision.delete_groups == (GROUP,)
    assert touched(decided(*pods, status=status, groups=(), **spec)) == []


def test_another_scheduler_gets_another_group() -> None:
    decision = decided(template=VOLCANO, status=Status())
    assert touched(decision) == ["made", "deleted"]
    assert decision.create[0]["apiVersion"] == Gang.VOLCANO


def test_a_group_of_another_size_is_changed_and_keeps_its_identity() -> None:
    decision = decided(*ALL_RUN, elastic={"minInstances": 2, "maxInstances": 8})
    assert decision.change == (
        {
            "apiVersion": Gang.KUBERNETES,
            "kind": "PodGroup",
            "metadata": {"name": "mnist", "namespace": "lab", "uid": "group-1"},
            "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
        },
    )
    assert touched(decision) == ["changed"]


@pytest.mark.parametrize("of", [Gang.VOLCANO, Gang.COSCHEDULING])
def test_a_scheduler_that_is_not_there_is_said_and_waited_for(of: Gang) -> None:
    scheduler = "volcano" if of is Gang.VOLCANO else "scheduler-plugins-scheduler"
    job = a_job(template=template(scheduler))
    decision = decide(job, Observed(), NOW, SITE)
    assert (decision.create, decision.wake_at) == ((), None)
    assert decision.status.phase is Phase.PENDING
    assert decision.status.message == (
        f"the template asks for a scheduler that needs PodGroups of {of}, which this cluster "
        f"does not have: install that scheduler, or take it out of the template"
    )
    reasons = {item.type: item.reason for item in decision.status.conditions}
    assert reasons["Running"] == reasons["PodsCreated"] == "PodGroupsMissing"
    again = decide(replace(job, status=decision.status), Observed(), at(60), SITE)
    assert (again.acts, again.status) == (False, decision.status)
    assert decide(replace(job, status=decision.status), Observed(served=ALL), NOW, SITE).create


def test_a_group_that_runs_outlives_its_scheduler() -> None:
    there = seen(*ALL_RUN, groups=(GROUP,))
    job = a_job(template=VOLCANO, status=RUNNING)
    assert decide(job, there, NOW, SITE).status.phase is Phase.RUNNING


def test_a_whole_group_without_room_keeps_waiting_in_its_queue() -> None:
    """None of it holds room that another group could use."""
    waits = RUNNING.model_copy(update={"phase": Phase.PENDING, "attempt_start_time": at(-600)})
    pods = [pending(rank, words="waiting for room") for rank in range(3)]
    decision = decided(*pods, status=waits)
    assert not decision.acts
    assert "waiting for room" in decision.status.message
