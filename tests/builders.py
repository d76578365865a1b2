"""Jobs and pods for tables: what a test does not name has the value that most tests want."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from trainingjobs.model.job import TrainingJob, parse
from trainingjobs.model.observed import Exit, Observed, PodSeen, ServiceSeen, Waiting
from trainingjobs.model.report import Report, Stage
from trainingjobs.model.roll import Entry
from trainingjobs.model.site import Site
from trainingjobs.model.status import Status

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
DOMAIN = "cluster.local"
SITE = Site(domain=DOMAIN)
REPORTING = Site(
    domain=DOMAIN,
    report_url="http://operator.system:8081/api/v1/reports",
    reporter={"sitecustomize.py": "# ours\n", "public/trainingjob/__init__.py": "# told\n"},
)
"""An operator that calls the roll."""
UID = "6f6c1f0e-0000-4000-8000-000000000001"


def service_spec(port: int = 29500, **others: Any) -> dict[str, Any]:
    """What the operator says of a service."""
    ours = {"port": port, "protocol": "TCP", "targetPort": port}
    return {
        "type": "ClusterIP",
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "selector": {"trainingjob.dev/job-uid": UID},
        "ports": [{"name": "rendezvous", **ours}],
        **others,
    }


SERVICE = ServiceSeen(name="mnist", uid="service-1", spec=service_spec())
TEMPLATE: dict[str, Any] = {
    "spec": {"containers": [{"name": "trainer", "image": "my/trainer:1", "command": ["train"]}]}
}


def at(seconds: float) -> datetime:
    """`NOW` and so many seconds."""
    return NOW + timedelta(seconds=seconds)


def a_body(instances: int = 3, *, name: str = "mnist", **spec: Any) -> dict[str, Any]:
    """A TrainingJob as the API server would hand it out."""
    return {
        "apiVersion": "trainingjob.dev/v1",
        "kind": "TrainingJob",
        "metadata": {
            "name": name,
            "namespace": "lab",
            "uid": UID,
            "generation": 1,
            "resourceVersion": "10",
            "creationTimestamp": "2026-03-01T11:59:59Z",
        },
        "spec": {"PARALLEL_INSTANCES": instances, "template": TEMPLATE, **spec},
    }


def a_job(
    instances: int = 3, *, status: Status | None = None, name: str = "mnist", **spec: Any
) -> TrainingJob:
    """A parsed job; the spec's fields have the manifest's names."""
    job = parse(a_body(instances, name=name, **spec))
    assert isinstance(job, TrainingJob), job
    return replace(job, status=status or Status())


def a_pod(rank: int, *, attempt: int = 1, job: str = "mnist", **changes: Any) -> PodSeen:
    """A pod that runs."""
    name = f"{job}-master" if rank == 0 else f"{job}-worker-{rank - 1}"
    running = PodSeen(
        name=name,
        uid=f"pod-{attempt}-{rank}",
        rank=rank,
        attempt=attempt,
        phase="Running",
        node="node-a",
        scheduled=True,
        running=True,
    )
    return replace(running, **changes)


def ended(rank: int, code: int, *, after: float = 0, attempt: int = 1, **said: Any) -> PodSeen:
    """A pod whose training container ended, noticed a good while before `NOW`."""
    return a_pod(
        rank,
        attempt=attempt,
        phase="Succeeded" if code == 0 else "Failed",
        running=False,
        exit=Exit(code=code, finished=at(after - 60), **said),
        noticed_end=at(-50),
    )


def pending(rank: int, *, words: str | None = None, attempt: int = 1) -> PodSeen:
    """A pod that no node has taken yet."""
    return a_pod(
        rank,
        attempt=attempt,
        phase="Pending",
        node=None,
        scheduled=False,
        running=False,
        unschedulable=words,
    )


def starting(rank: int, *, reason: str = "", message: str = "", attempt: int = 1) -> PodSeen:
    """A pod on a node whose container does not run yet."""
    waits = Waiting(reason=reason, message=message) if reason else None
    return a_pod(rank, attempt=attempt, phase="Pending", running=False, waiting=waits)


def seen(*pods: PodSeen, service: ServiceSeen | None = SERVICE, **others: Any) -> Observed:
    """What is there."""
    return Observed(pods=pods, service=service, **others)


def heard(
    rank: int | None,
    *,
    attempt: int = 1,
    received: float = 0,
    instance: int | None = None,
    **said: Any,
) -> Entry:
    """A report that came in; a process of its own for each rank, unless it is said."""
    of = (rank or 0) if instance is None else instance
    report: dict[str, Any] = {"process": f"p{rank}", "rank": rank, "stage": Stage.STEPPING, **said}
    return Entry(
        instance=of,
        pod_uid=f"pod-{attempt}-{of}",
        received=at(received),
        first=at(received - 30),
        interval=timedelta(seconds=5),
        report=Report(version=1, **report),
    )
