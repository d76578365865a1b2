"""Raw manifests for tables, as the API server hands them out."""

from typing import Any

from builders import UID

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


def raw_service(*, version: str = "4", uid: str = "service-1", **metadata: Any) -> Raw:
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
        "spec": {"clusterIP": "None"},
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
