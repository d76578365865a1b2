"""The operator that `reports.py` measures: its service, queue and decisions, and no cluster."""

import argparse
import asyncio
import base64
import json
import sys
import time
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import prometheus_client
import uvloop

from trainingjobs.cluster.observe import observe
from trainingjobs.cluster.rolls import Rolls
from trainingjobs.cluster.store import Key, Store
from trainingjobs.handlers import process
from trainingjobs.handlers.doors import Limits
from trainingjobs.handlers.rollcall import Parts, RollCall
from trainingjobs.handlers.workqueue import Queue
from trainingjobs.model.job import TrainingJob, parse
from trainingjobs.model.site import Site
from trainingjobs.plan.decide import decide

HOST, NAMESPACE, PROCESSES = "127.0.0.1", "bench", 8
TRAINER = {"spec": {"containers": [{"name": "trainer", "image": "trainer:1"}]}}


class Believer:
    """An API server that takes every token for what it says."""

    async def request(self, _method: str, _path: str, *, body: dict[str, Any]) -> dict[str, Any]:
        """A pod's user, after the time that a review takes."""
        await asyncio.sleep(0.005)
        payload = body["spec"]["token"].split(".")[1]
        said = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        pod, prefix = said["kubernetes.io"]["pod"], "authentication.kubernetes.io"
        extra = {f"{prefix}/pod-name": [pod["name"]], f"{prefix}/pod-uid": [pod["uid"]]}
        user = {"username": f"system:serviceaccount:{NAMESPACE}:default", "extra": extra}
        return {"status": {"authenticated": True, "audiences": said["aud"], "user": user}}


def now() -> datetime:
    """The time of day."""
    return datetime.now(UTC)


def uid(job: int, instance: int | None = None) -> str:
    """The uid of a job or of one of its pods."""
    return f"job-{job}" if instance is None else f"pod-{job}-{instance}"


def filled(jobs: int, instances: int) -> Store:
    """A store with so many jobs whose pods all run."""
    store = Store(now)
    for number in range(jobs):
        name = {"namespace": NAMESPACE, "name": f"job-{number}", "uid": uid(number)}
        spec = {"PARALLEL_INSTANCES": instances, "processesPerInstance": PROCESSES}
        store.put_job(
            {"metadata": {**name, "resourceVersion": "1"}, "spec": {**spec, "template": TRAINER}}
        )
        for instance in range(instances):
            store.put(pod(number, instance))
    return store


def pod(job: int, instance: int) -> dict[str, Any]:
    """A pod that runs."""
    owner = {"apiVersion": "trainingjob.dev/v1", "kind": "TrainingJob", "controller": True}
    labels = {"trainingjob.dev/rank": str(instance), "trainingjob.dev/attempt": "1"}
    state = {"name": "trainer", "state": {"running": {}}}
    return {
        "kind": "Pod",
        "metadata": {
            "namespace": NAMESPACE,
            "name": uid(job, instance),
            "uid": uid(job, instance),
            "resourceVersion": "1",
            "labels": labels,
            "ownerReferences": [{**owner, "name": f"job-{job}", "uid": uid(job)}],
        },
        "spec": {"nodeName": "node", "containers": [{"name": "trainer"}]},
        "status": {"phase": "Running", "containerStatuses": [state]},
    }


async def serve(chosen: argparse.Namespace) -> None:
    """Be the operator; a line for the ranks' process says when and where."""
    store, rolls = filled(chosen.jobs, chosen.instances), Rolls(now, chosen.rate)
    looks = Counter[str]()

    async def look(key: Key) -> None:
        started, job = time.process_time(), parse(store.job(key) or {})
        if isinstance(job, TrainingJob):
            decide(job, observe(store, job, rolls), now(), Site(domain="cluster.local"))
        looks["number"] += 1
        looks["microseconds"] += int(1e6 * (time.process_time() - started))

    queue: Queue[Key] = Queue(look)
    parts = Parts(
        api=Believer(),  # type: ignore[arg-type]
        store=store,
        rolls=rolls,
        registry=prometheus_client.CollectorRegistry(),
        wake=queue.wake,
        ready=lambda _: True,
        rate=chosen.rate,
        # all ranks come from one address here
        limits=Limits(of_one_address=4096, connections=8192, requests_of_one_address=512),
    )
    queue.start()
    service = RollCall(parts)
    print(json.dumps({"port": await service.start(0, HOST)}), flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    print(json.dumps({"heard": rolls.heard, **looks}), flush=True)
    await service.stop()
    await queue.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, required=True)
    parser.add_argument("--instances", type=int, required=True)
    parser.add_argument("--rate", type=float, required=True)
    process.collect_seldom()
    uvloop.run(serve(parser.parse_args()))
