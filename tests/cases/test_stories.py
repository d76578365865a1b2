"""Stories that need a memory: late news, and jobs that could be taken for each other."""

import copy
from typing import Any

from builders import UID, a_body
from cluster.raw import container, owner, raw_pod, terminated
from test_reconcile import PODS, Lab
from trainingjobs.cluster.observe import observe
from trainingjobs.cluster.store import Store
from trainingjobs.model.job import TrainingJob, parse


async def test_a_watch_that_is_late_makes_nothing_twice() -> None:
    """Everything that the watch tells comes after the next two attempts have begun."""
    lab = Lab(maxRestarts=5)
    late: list[dict[str, Any]] = []
    for attempt in (1, 2, 3):
        await lab.settle()
        assert lab.status["attempt"] == attempt
        late += [copy.deepcopy(lab.api.objects[f"{PODS}/{name}"]) for name in lab.pods]
        lab.run_all()
        await lab.settle()
        ended = [container(terminated=terminated(1, "Error", f"boom of {attempt}"))]
        lab.change_pod("mnist-master", phase="Failed", containerStatuses=ended)
        for _ in range(6):
            lab.seconds += max(await lab.look() or 0.0, 0.1)
    there = {at: it["metadata"]["uid"] for at, it in lab.api.objects.items()}
    for pod in late:
        lab.store.put({**pod, "kind": "Pod"})
        await lab.look()
        assert not lab.api.writes
    assert {at: it["metadata"]["uid"] for at, it in lab.api.objects.items()} == there
    assert (lab.status["attempt"], lab.status["restarts"]) == (4, 3)


def test_jobs_of_one_name_in_two_namespaces_do_not_meet() -> None:
    lab = Lab()
    store = Store(lab.now)
    jobs = []
    for namespace, uid in (("lab", UID), ("other", "uid-of-the-other")):
        body = a_body()
        body["metadata"] |= {"namespace": namespace, "uid": uid, "resourceVersion": "10"}
        store.put_job(body)
        metadata = {"namespace": namespace, "ownerReferences": [owner(uid=uid)]}
        for rank in range(2 if namespace == "lab" else 1):
            pod = raw_pod(rank, uid=f"{namespace}-{rank}", metadata=metadata)
            assert store.put(pod) == (namespace, "mnist")
        job = parse(body)
        assert isinstance(job, TrainingJob)
        jobs.append(job)
    first, second = (observe(store, job) for job in jobs)
    assert [pod.uid for pod in first.pods] == ["lab-0", "lab-1"]
    assert [pod.uid for pod in second.pods] == ["other-0"]
    store.drop_job(store.job(("lab", "mnist")) or {})
    assert store.job(("other", "mnist")) is not None
    assert len(observe(store, jobs[1]).pods) == 1
