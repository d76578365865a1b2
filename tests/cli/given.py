"""Jobs, pods and events as an API server shows them, for what is shown of them."""

from typing import Any

from builders import NOW, UID, a_body
from trainingjobs.client.job import Job

HOSTILE = "\x1b[2J\x1b]0;owned\x07\u202eevil\r\n"


def a_seen_job(instances: int = 3, *, name: str = "mnist", status: Any = None, **spec: Any) -> Job:
    """A job, with what the operator says of it."""
    body = a_body(instances, name=name, framework="PyTorch", maxRestarts=3, **spec)
    return Job({**body, "status": status or {}})


def a_pod(rank: int, *, attempt: int = 1, state: Any = None, **others: Any) -> dict[str, Any]:
    """A pod of that job."""
    name = "mnist-master" if rank == 0 else f"mnist-worker-{rank - 1}"
    return {
        "metadata": {
            "name": name,
            "namespace": "lab",
            "uid": f"{name}-{attempt}",
            "creationTimestamp": "2026-03-01T11:59:00Z",
            "labels": {
                "trainingjob.dev/rank": str(rank),
                "trainingjob.dev/attempt": str(attempt),
                "trainingjob.dev/job-uid": UID,
            },
            "annotations": {"trainingjob.dev/container": "trainer"},
        },
        "spec": {"nodeName": "node-a", "containers": [{"name": "trainer"}]},
        "status": {
            "phase": "Running",
            "containerStatuses": [{"name": "trainer", "state": state or {"running": {}}}],
        },
        **others,
    }


def an_event(reason: str, message: str, *, of: str = "mnist", kind: str = "Warning") -> Any:
    """An event, half a minute old."""
    return {
        "type": kind,
        "reason": reason,
        "message": message,
        "lastTimestamp": NOW.replace(minute=59, hour=11, second=30).isoformat(),
        "involvedObject": {"name": of},
    }


FAILURE = {
    "rank": 1,
    "pod": "mnist-worker-0",
    "node": "node-a",
    "exitCode": 1,
    "reason": "Error",
    "message": "Traceback\nFileNotFoundError: /data/shard-1",
    "time": "2026-03-01T11:59:50Z",
    "victims": "0,2",
}
FAILED = {
    "phase": "Failed",
    "message": "rank 1 (mnist-worker-0 on node-a) exited with code 1",
    "ready": "0/3",
    "attempt": 2,
    "restarts": 1,
    "failure": FAILURE,
    "startTime": "2026-03-01T11:50:00Z",
    "completionTime": "2026-03-01T12:00:00Z",
    "attempts": [
        {
            "attempt": 1,
            "startTime": "2026-03-01T11:50:00Z",
            "endTime": "2026-03-01T11:55:00Z",
            "reason": "RankFailed",
            "failure": FAILURE,
            "step": 40,
        },
        {"attempt": 2, "endTime": "2026-03-01T12:00:00Z", "reason": "RankFailed"},
    ],
}
