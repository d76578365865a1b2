"""Every shape of pod that a cluster may show, and the facts that are left of it."""

from datetime import UTC, datetime
from typing import Any

import pytest

from cluster.raw import Raw, container, owner, raw_pod, terminated
from trainingjobs.cluster import pods
from trainingjobs.model.observed import Exit, PodSeen, Waiting

NOON = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


def see(**parts: Any) -> PodSeen:
    """The pod as decisions see it."""
    found = pods.seen(raw_pod(**parts))
    assert found is not None
    return found


@pytest.mark.parametrize(
    "metadata",
    [
        {"ownerReferences": []},
        {"ownerReferences": None},
        {"ownerReferences": [owner(controller=False)]},
        {"ownerReferences": [owner(kind="ReplicaSet", apiVersion="apps/v1")]},
        {"ownerReferences": [owner(apiVersion="kubeflow.org/v1")]},
        {"labels": None},
        {"labels": {"trainingjob.dev/rank": "0"}},
        {"labels": {"trainingjob.dev/rank": "x", "trainingjob.dev/attempt": "1"}},
        {"labels": {"trainingjob.dev/rank": "-1", "trainingjob.dev/attempt": "1"}},
        {"labels": {"trainingjob.dev/rank": "٣", "trainingjob.dev/attempt": "1"}},
    ],
    ids=[
        "nobody's",
        "null owners",
        "owned but not controlled",
        "another kind's",
        "another group's",
        "no labels",
        "no attempt",
        "rank is no number",
        "negative rank",
        "rank in other digits",
    ],
)
def test_a_pod_that_is_no_rank_of_a_job_is_not_seen(metadata: Raw) -> None:
    assert pods.seen(raw_pod(metadata=metadata)) is None


def test_a_reason_is_a_short_word_whoever_has_written_it() -> None:
    """Not only the kubelet writes the status of a pod, where somebody else was allowed to."""
    evil = "\x1b[2J\u202e\n" + "x" * 5000
    ended = container(terminated=terminated(1, reason=evil))
    waits = container(waiting={"reason": evil, "message": evil})
    disrupted = {"type": "DisruptionTarget", "status": "True", "reason": evil}
    unplaced = {"type": "PodScheduled", "status": "False", "reason": evil}
    fell = see(status={"phase": "Failed", "containerStatuses": [ended], "conditions": [disrupted]})
    held = see(status={"containerStatuses": [waits], "conditions": [unplaced]})
    refused = see(status={"phase": "Failed", "reason": evil})
    assert fell.exit is not None
    assert held.waiting is not None
    words = (fell.exit.reason, fell.disruption, held.waiting.reason, refused.disruption)
    for word in (*words, held.unschedulable):
        assert word is not None
        assert word.isprintable()
        assert 0 < len(word) <= 128


def test_a_fresh_pod_is_pending() -> None:
    pod = see(rank=3)
    assert (pod.name, pod.uid, pod.rank, pod.attempt) == ("mnist-3", "pod-3", 3, 1)
    assert pod.phase == "Pending"
    assert not any((pod.scheduled, pod.running, pod.ended, pod.terminating))


def test_a_pod_without_a_status_is_pending() -> None:
    raw = raw_pod()
    del raw["status"]
    found = pods.seen(raw)
    assert found is not None
    assert found.phase == "Pending"


TWO = {"containers": [{"name": "proxy"}, {"name": "main"}, {"name": "trainer"}]}
BOTH = [
    container("proxy", running={}),
    container("main", terminated=terminated(3)),
    container("trainer", terminated=terminated(5)),
]


@pytest.mark.parametrize(
    ("notes", "spec", "code"),
    [
        ({"trainingjob.dev/container": "main"}, TWO, 3),
        ({}, TWO, 5),
        ({"trainingjob.dev/container": "lost"}, TWO, 5),
        (None, {"containers": [{"name": "main"}, {"name": "proxy"}]}, 3),
    ],
    ids=["the annotated one", "the one named trainer", "annotation of none", "the first"],
)
def test_which_container_trains(notes: Raw | None, spec: Raw, code: int) -> None:
    pod = see(
        metadata={"annotations": notes},
        spec=spec,
        status={"phase": "Running", "containerStatuses": BOTH},
    )
    assert pod.exit is not None
    assert pod.exit.code == code


@pytest.mark.parametrize(
    ("spec", "names"),
    [
        ({"containers": [{"name": "trainer"}]}, ()),
        (TWO, ("proxy", "main")),
        (
            {
                "containers": [{"name": "trainer"}],
                "initContainers": [{"name": "once"}, {"name": "on", "restartPolicy": "Always"}],
            },
            ("on",),
        ),
    ],
    ids=["nobody", "two others", "one that starts before it"],
)
def test_who_runs_beside_the_trainer(spec: Raw, names: tuple[str, ...]) -> None:
    assert see(spec=spec).beside == names


def test_a_trainer_that_ended_beside_a_running_sidecar_has_ended() -> None:
    statuses = [container(terminated=terminated(0)), container("proxy", running={})]
    pod = see(
        spec={"nodeName": "node-a"}, status={"phase": "Running", "containerStatuses": statuses}
    )
    assert pod.ended
    assert pod.succeeded
    assert not pod.running
    assert pod.lingers
    assert pod.exit == Exit(code=0, reason="Completed", finished=NOON)


def test_a_pod_whose_containers_have_all_ended_does_not_linger() -> None:
    statuses = [container(terminated=terminated(0)), container("proxy", terminated=terminated(0))]
    pod = see(
        spec={"nodeName": "node-a"}, status={"phase": "Running", "containerStatuses": statuses}
    )
    assert pod.ended
    assert not pod.lingers
    assert not pod.holds_resources


def test_a_running_trainer_runs() -> None:
    status = {"phase": "Running", "containerStatuses": [container(running={})]}
    pod = see(spec={"nodeName": "node-a"}, status=status)
    assert pod.running
    assert pod.scheduled
    assert pod.node == "node-a"


@pytest.mark.parametrize(
    ("ended", "seen"),
    [
        (terminated(137, "OOMKilled"), Exit(code=137, reason="OOMKilled", finished=NOON)),
        (terminated(1), Exit(code=1, reason="Error", finished=NOON)),
        (
            terminated(1, "Error", "boom"),
            Exit(code=1, reason="Error", message="boom", finished=NOON),
        ),
        ({"exitCode": 2, "finishedAt": None}, Exit(code=2, reason="Error")),
    ],
    ids=["out of memory", "no reason", "last words", "no time"],
)
def test_how_it_ended(ended: Raw, seen: Exit) -> None:
    status = {"phase": "Failed", "containerStatuses": [container(terminated=ended)]}
    assert see(status=status).exit == seen


def rule(operator: str, *codes: int, action: str = "Restart") -> Raw:
    """When a container is started again in place."""
    return {"action": action, "exitCodes": {"operator": operator, "values": list(codes)}}


@pytest.mark.parametrize(
    ("policy", "rules", "code", "over"),
    [
        ("Never", [rule("In", 42)], 42, False),
        ("Never", [rule("In", 42)], 1, True),
        ("Never", [rule("In", 42)], 0, True),
        ("Never", [rule("NotIn", 1)], 42, False),
        ("Never", [rule("NotIn", 1)], 1, True),
        ("Never", [rule("In", 1), rule("In", 42, action="RestartAllContainers")], 42, False),
        ("Never", [rule("In", 42, action="Unheard")], 42, True),
        ("Never", None, 42, True),
        ("OnFailure", None, 0, True),
        ("OnFailure", None, 1, False),
        ("OnFailure", [rule("In", 0)], 0, False),
        ("Always", None, 0, False),
        (None, None, 42, True),
        (None, [rule("In", 42)], 42, True),
    ],
)
def test_what_the_kubelet_starts_again_has_not_ended(
    policy: str | None, rules: list[Raw] | None, code: int, over: bool
) -> None:
    trainer = {"name": "trainer", "restartPolicy": policy, "restartPolicyRules": rules}
    statuses = [container(terminated=terminated(code)), container("proxy", running={})]
    status = {"phase": "Running", "containerStatuses": statuses}
    pod = see(spec={"containers": [trainer, {"name": "proxy"}]}, status=status)
    assert (pod.exit is not None) is over
    assert pod.ended is over


def test_nothing_is_started_again_in_a_pod_that_is_being_deleted() -> None:
    trainer = {"name": "trainer", "restartPolicy": "Always"}
    status = {"phase": "Running", "containerStatuses": [container(terminated=terminated(1))]}
    deleted = {"deletionTimestamp": "2026-03-01T12:00:30Z", "deletionGracePeriodSeconds": 30}
    labelled = raw_pod()["metadata"] | deleted
    pod = see(metadata=labelled, spec={"containers": [trainer]}, status=status)
    assert pod.exit is not None


def test_a_container_with_its_own_restart_policy_has_not_ended() -> None:
    spec = {"containers": [{"name": "trainer", "restartPolicy": "OnFailure"}]}
    statuses = [container(terminated=terminated(1))]
    assert see(spec=spec, status={"phase": "Running", "containerStatuses": statuses}).exit is None
    failed = see(spec=spec, status={"phase": "Failed", "containerStatuses": statuses})
    assert failed.exit is not None


INIT = {"initContainers": [{"name": "fetch"}, {"name": "mesh", "restartPolicy": "Always"}]}


@pytest.mark.parametrize(
    ("statuses", "reason"),
    [
        ([container("fetch", terminated=terminated(1, "Error"))], "Init:Error"),
        ([container("fetch", terminated=terminated(0))], None),
        ([container("fetch", running={})], None),
        ([container("mesh", terminated=terminated(1))], None),
    ],
    ids=["failed", "succeeded", "runs", "a sidecar starts again"],
)
def test_a_failed_init_container_is_the_pods_exit(statuses: list[Raw], reason: str | None) -> None:
    pod = see(spec=INIT, status={"initContainerStatuses": statuses})
    assert (pod.exit.reason if pod.exit else None) == reason


@pytest.mark.parametrize(
    ("init", "main", "waiting"),
    [
        ([], {"reason": "ContainerCreating"}, None),
        ([], {"reason": "PodInitializing"}, None),
        ([], {}, None),
        ([], {"reason": "ErrImagePull", "message": "no such tag"}, ("ErrImagePull", "no such tag")),
        ([], {"reason": "CreateContainerConfigError"}, ("CreateContainerConfigError", "")),
        (
            [container("fetch", waiting={"reason": "ImagePullBackOff"})],
            {"reason": "PodInitializing"},
            ("ImagePullBackOff", ""),
        ),
    ],
    ids=["creating", "initializing", "nothing said", "image", "configuration", "init's image"],
)
def test_what_it_waits_for(init: list[Raw], main: Raw, waiting: tuple[str, str] | None) -> None:
    status = {"initContainerStatuses": init, "containerStatuses": [container(waiting=main)]}
    wanted = None if waiting is None else Waiting(reason=waiting[0], message=waiting[1])
    assert see(status=status).waiting == wanted


def test_the_schedulers_words_are_kept() -> None:
    words = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."
    scheduled = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": words,
    }
    pod = see(status={"conditions": [scheduled]})
    assert pod.unschedulable == words
    assert not pod.scheduled


def test_a_scheduled_pod_is_not_unschedulable() -> None:
    pod = see(status={"conditions": [{"type": "PodScheduled", "status": "True"}]})
    assert pod.scheduled
    assert pod.unschedulable is None


def test_a_deletion_was_requested_before_its_grace() -> None:
    metadata = {"deletionTimestamp": "2026-03-01T12:00:30Z", "deletionGracePeriodSeconds": 30}
    assert see(metadata=metadata).deletion_requested == NOON


TARGET = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}


@pytest.mark.parametrize(
    ("status", "disruption"),
    [
        ({"conditions": [TARGET]}, "EvictionByEvictionAPI"),
        ({"conditions": [{**TARGET, "status": "False"}]}, None),
        ({"phase": "Failed", "reason": "Evicted"}, "Evicted"),
        ({"phase": "Failed", "reason": "OutOfcpu"}, "OutOfcpu"),
        ({"phase": "Failed", "reason": "NodeShutdown"}, "NodeShutdown"),
        ({"phase": "Failed", "reason": "SomethingNew"}, "SomethingNew"),
        (
            {
                "phase": "Failed",
                "reason": "SomethingNew",
                "containerStatuses": [container(terminated=terminated(1))],
            },
            None,
        ),
        ({"phase": "Failed", "reason": "DeadlineExceeded"}, None),
        ({"phase": "Failed"}, None),
        ({"phase": "Running", "reason": "NodeLost"}, "NodeLost"),
    ],
    ids=[
        "drained",
        "no longer a target",
        "evicted by the kubelet",
        "no room on the node",
        "node goes down",
        "refused by the kubelet",
        "failed by itself",
        "its own deadline",
        "nothing said",
        "node lost",
    ],
)
def test_what_is_a_disruption(status: Raw, disruption: str | None) -> None:
    assert see(status=status).disruption == disruption
