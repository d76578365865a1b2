"""Raw manifests for tables, as the API server hands them out."""

from typing import Any

from builders import UID, service_spec
from trainingjobs.model.gang import Gang

Raw = dict[str, Any]


def owner(uid: str = UID, name: str = "mnist", **changes: Any) -> Raw:
    """The controller reference to a job."""
    return {
        "apiVersion": "trainingjob.dev/v1",
        "kind": "TrainingJob",
        "name": name,
        "uid": uid,
        "controller": True,
        **changes,
    }


def raw_pod(
    rank: int = 0,
    *,
    version: str = "5",
    uid: str | None = None,
    metadata: Raw | None = None,
    spec: Raw | None = None,
    status: Raw | None = None,
) -> Raw:
    """A pod of the job `mnist`, as freshly created."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"mnist-{rank}",
            "namespace": "lab",
            "uid": uid or f"pod-{rank}",
            "resourceVersion": version,
            "labels": {
                "trainingjob.dev/job-uid": UID,
                "trainingjob.dev/rank": str(rank),
                "trainingjob.dev/attempt": "1",
            },
            "annotations": {"trainingjob.dev/container": "trainer"},
            "ownerReferences": [owner()],
            **(metadata or {}),
        },
        "spec": {"containers": [{"name": "trainer"}], **(spec or {})},
        "status": {"phase": "Pending", **(status or {})},
    }


def raw_group(of: Gang = Gang.VOLCANO, *, members: int = 3, **metadata: Any) -> Raw:
    """The pod group of the job `mnist`; a list would leave out what it is."""
    gang = {"schedulingPolicy": {"gang": {"minCount": members}}}
    return {
        "apiVersion": of.value,
        "kind": "PodGroup",
        "metadata": {
            "name": "mnist",
            "namespace": "lab",
            "uid": "group-1",
            "resourceVersion": "4",
            "ownerReferences": [owner()],
            **metadata,
        },
        "spec": gang if of is Gang.KUBERNETES else {"minMember": members},
    }


def raw_service(
    *, version: str = "4", uid: str = "service-1", port: int = 29500, **metadata: Any
) -> Raw:
    """The headless service of the job `mnist`."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "mnist",
            "namespace": "lab",
            "uid": uid,
            "resourceVersion": version,
            "ownerReferences": [owner()],
            **metadata,
        },
        "spec": service_spec(port),
    }


def container(name: str = "trainer", **state: Any) -> Raw:
    """The status of one container: its name and its state."""
    return {"name": name, "state": state}


def terminated(code: int, reason: str = "", message: str = "") -> Raw:
    """The state of a container that ended."""
    return {
        "exitCode": code,
        "reason": reason,
        "message": message,
        "finishedAt": "2026-03-01T12:00:00Z",
    }
