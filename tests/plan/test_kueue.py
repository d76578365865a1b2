"""What Kueue asks of a job, answered from the resource alone, as an integration with it would.

The questions are those of `GenericJob` in Kueue's jobframework; docs/howto/kueue.md has them.
"""

from dataclasses import replace
from typing import Any

import pytest

from builders import a_job
from trainingjobs.model import labels
from trainingjobs.model.job import TrainingJob
from trainingjobs.model.spec import Manifest
from trainingjobs.model.status import Phase
from trainingjobs.status import conditions
from world import World

PLAIN: Manifest = {"spec": {"containers": [{"name": "trainer", "image": "my/trainer:1"}]}}
FLAVOR: Manifest = {
    "nodeSelector": {"pool": "spot"},
    "tolerations": [{"key": "spot", "operator": "Exists"}],
}
INJECTED: Manifest = {"spec": {**PLAIN["spec"], **FLAVOR}}


def pods_ready(job: TrainingJob) -> bool:
    """PodsReady: all pods run, now and not once upon a time."""
    return conditions.holds(job.status.conditions, conditions.RUNNING)


def is_active(job: TrainingJob) -> bool:
    """IsActive: there are pods that hold what was admitted."""
    count = job.status.instances
    return bool(count.pending + count.starting + count.running + count.terminating)


def finished(job: TrainingJob) -> tuple[str, bool, bool]:
    """Finished: the message, whether it succeeded, whether it is over."""
    known = job.status.conditions
    over = conditions.holds(known, conditions.FINISHED)
    return job.status.message, conditions.holds(known, conditions.SUCCEEDED), over


class Queue:
    """Kueue's part: it stops and admits a job, each in one write."""

    def __init__(self, **spec: Any) -> None:
        self.world = World(a_job(template=PLAIN, suspend=True, **spec))
        self.world.settle()

    @property
    def job(self) -> TrainingJob:
        """The job as it was last written."""
        return self.world.job

    def admit(self) -> None:
        """RunWithPodSetsInfo: what the flavor asks of nodes goes into the template."""
        self._write(suspend=False, template=INJECTED)

    def stop(self) -> None:
        """Suspend and RestorePodSetsInfo."""
        self._write(suspend=True, template=PLAIN)

    def run_all(self) -> None:
        """All pods run."""
        for rank in range(self.job.size):
            self.world.run(rank)
        self.world.step()

    def _write(self, **spec: Any) -> None:
        changed = self.job.spec.model_copy(update=spec)
        self.world.job = replace(self.job, spec=changed)


@pytest.fixture
def queue() -> Queue:
    return Queue()


def test_a_queued_job_has_nothing_and_started_nothing(queue: Queue) -> None:
    assert queue.job.status.phase is Phase.SUSPENDED
    assert queue.job.status.start_time is None
    told = (is_active(queue.job), pods_ready(queue.job), finished(queue.job)[2])
    assert told == (False, False, False)
    assert not queue.world.pods


def test_an_admitted_job_runs_where_it_was_admitted(queue: Queue) -> None:
    queue.admit()
    pods = [item for item in queue.world.decide().create if item["kind"] == "Pod"]
    assert len(pods) == 3
    assert all(pod["spec"].items() >= FLAVOR.items() for pod in pods)


def test_ready_is_said_when_all_pods_run_and_unsaid_through_a_restart(queue: Queue) -> None:
    queue.admit()
    queue.world.settle()
    assert (is_active(queue.job), pods_ready(queue.job)) == (True, False)
    queue.run_all()
    assert pods_ready(queue.job)
    queue.world.end(1, 1)
    queue.world.pass_time(5)
    said = []
    for _ in range(6):
        queue.world.step()
        said.append(pods_ready(queue.job))
        queue.world.bury()
    assert said == [False] * 6
    assert (queue.job.status.attempt, finished(queue.job)[2]) == (2, False)
    queue.run_all()
    assert pods_ready(queue.job)


def test_an_evicted_job_is_active_until_its_last_pod_is_gone(queue: Queue) -> None:
    queue.admit()
    queue.world.settle()
    queue.run_all()
    queue.stop()
    queue.world.step()
    queue.world.step()
    assert (is_active(queue.job), pods_ready(queue.job)) == (True, False)
    queue.world.bury()
    queue.world.step()
    assert not is_active(queue.job)
    assert (queue.job.status.restarts, queue.job.status.disruptions) == (0, 0)


def test_the_next_admission_is_a_new_attempt_with_its_own_template(queue: Queue) -> None:
    queue.admit()
    queue.world.settle()
    queue.stop()
    queue.world.settle()
    queue._write(suspend=False)  # noqa: SLF001
    pods = [item for item in queue.world.decide().create if item["kind"] == "Pod"]
    assert {pod["metadata"]["labels"][labels.ATTEMPT] for pod in pods} == {"2"}
    assert not any("nodeSelector" in pod["spec"] for pod in pods)


@pytest.mark.parametrize(("code", "success"), [(0, True), (1, False)])
def test_the_end_is_told_with_its_message(code: int, success: bool) -> None:
    queue = Queue(maxRestarts=0)
    queue.admit()
    queue.world.settle()
    queue.run_all()
    for rank in range(3):
        queue.world.end(rank, code)
    queue.world.pass_time(5)
    queue.world.settle()
    message, succeeded, over = finished(queue.job)
    assert (succeeded, over) == (success, True)
    assert "all 3 instances succeeded" in message if success else "exited with code 1" in message


def test_what_has_ended_can_be_given_to_others(queue: Queue) -> None:
    """ReclaimablePods."""
    queue.admit()
    queue.world.settle()
    queue.run_all()
    queue.world.end(2, 0)
    queue.world.step()
    assert (queue.job.status.instances.succeeded, pods_ready(queue.job)) == (1, True)
