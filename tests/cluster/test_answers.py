"""What was made is known at once, and what a watch tells of it later is still news."""

from typing import Any

import pytest

from builders import NOW, UID, a_body
from cluster.raw import raw_pod
from trainingjobs.cluster import answers
from trainingjobs.cluster.store import Store

GATED = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": "gated"}


def told(version: str, **status: Any) -> dict[str, Any]:
    pod = raw_pod(status=status)
    return {**pod, "metadata": {**pod["metadata"], "resourceVersion": version}}


@pytest.fixture
def store() -> Store:
    found = Store(lambda: NOW)
    found.put_job(a_body())
    return found


def sent_and_made(store: Store, version: str) -> None:
    pod = told(version)
    sent = {key: pod[key] for key in ("apiVersion", "kind", "metadata", "spec")}
    made = {"kind": "PartialObjectMetadata", "metadata": pod["metadata"]}
    assert store.put(answers.known(sent, made)) is not None


def test_what_keeps_a_pod_from_its_node_is_told_with_its_first_version(store: Store) -> None:
    """Nothing changes a pod that waits at a gate: there is no later version."""
    sent_and_made(store, "7")
    assert store.put(told("7", conditions=[GATED])) is not None
    assert store.pods_of(UID)[0].unschedulable == "gated"


def test_a_pod_that_is_told_as_it_was_sent_wakes_nobody(store: Store) -> None:
    sent_and_made(store, "7")
    assert store.put(told("7")) is None
    assert store.put(told("8")) is None
    assert store.put(told("9", phase="Running")) is not None


def test_a_deletion_of_what_was_just_made_is_believed(store: Store) -> None:
    sent_and_made(store, "7")
    store.drop(told("8"))
    assert store.put(told("7")) is None
    assert not store.pods_of(UID)


def test_a_whole_answer_is_taken_as_it_is() -> None:
    made = told("7", phase="Pending")
    assert answers.known(raw_pod(), made)["metadata"]["resourceVersion"] == "7"
