"""Training with a fault every 20 s ends where it would have ended: steps are lost, results are not.

A rank is killed, one is evicted, the one that saves is killed in the middle of it, and in the end
the newest checkpoint is torn as well.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from e2e import jobs, lessons, volumes
from e2e.harness import Cluster, Manifest, Namespace
from e2e.lessons import Report

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900), pytest.mark.example("10-checkpoint")]

EPOCHS, STEPS, EVERY = 8, 96, 5
APART = 15
"""Steps, of more than a second each, from one fault to the next."""
MASTER, WORKER = "checkpoint-master", "checkpoint-worker-0"

FIND = """
import os, pathlib, time
def of_the_pod():
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            groups, command = (process / "cgroup").read_text(), (process / "cmdline").read_text()
        except OSError:
            continue
        if os.environ["POD"] in groups.replace("_", "-") and "train.py" in command:
            return process
process, folder = of_the_pod(), os.environ["FOLDER"]
"""
WHILE_IT_SAVES = (
    FIND
    + """
while not any(name.endswith(".partial") for name in os.listdir(folder)):
    time.sleep(0.01)
os.kill(int(process.name), 9)
"""
)
AND_TEAR = (
    FIND
    + """
os.kill(int(process.name), 9)
time.sleep(1)
newest = max(name for name in os.listdir(folder) if name.endswith(".ckpt"))
os.truncate(f"{folder}/{newest}", os.stat(f"{folder}/{newest}").st_size // 2)
print(newest)
"""
)


class Faults:
    """What can be done to the ranks of a job."""

    def __init__(self, lab: Namespace, folder: str) -> None:
        self.lab, self.folder = lab, folder
        self.torn = ""

    def kill_a_worker(self) -> None:
        """SIGKILL, as for a container that uses too much memory."""
        self._kill(WORKER, jobs.KILL)

    def evict_a_worker(self) -> None:
        """As a node is drained."""
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": WORKER, "namespace": self.lab.name},
        }
        path = f"/api/v1/namespaces/{self.lab.name}/pods/{WORKER}/eviction"
        self.lab.kubectl("create", "--raw", path, "--filename=-", stdin=json.dumps(eviction))

    def kill_the_one_that_saves(self) -> None:
        """While the file is half written."""
        self._kill(MASTER, WHILE_IT_SAVES)

    def tear_a_checkpoint(self) -> None:
        """As a disk may that lies about what it has written: seen after the writer is killed."""
        self.torn = self._kill(MASTER, AND_TEAR).strip()

    def _kill(self, name: str, script: str) -> str:
        """Run a script beside a pod's process; what it prints."""
        pod = self.lab.objects("pods")[name]
        killer = jobs.a_killer(pod["spec"]["nodeName"], pod["metadata"]["uid"])
        (container,) = killer["spec"]["containers"]
        container["command"][-1] = script
        container["env"].append({"name": "FOLDER", "value": f"/shared/{self.folder}"})
        container["volumeMounts"] = [{"name": "shared", "mountPath": "/shared"}]
        shared = {"name": "shared", "hostPath": {"path": volumes.SHARED}}
        killer["spec"]["volumes"] = [shared]
        place = self.lab.cluster.namespace("default")
        place.kubectl("create", "-f", "-", stdin=json.dumps(killer))
        own = killer["metadata"]["name"]
        seen = place.wait("pods", lambda pods: _phase(pods[own]) in {"Succeeded", "Failed"})
        said = place.kubectl("logs", own)
        assert _phase(seen[own]) == "Succeeded", said
        place.kubectl("delete", "pod", own, "--grace-period=1")
        return said


def _phase(pod: Manifest) -> str:
    return str(pod["status"]["phase"])


def test_faults_cost_steps_and_change_no_result(
    cluster: Cluster, lab: Namespace, alone: Report, record_property: Callable[[str, object], None]
) -> None:
    with volumes.checkpoint(cluster, lab) as name:
        slow = {"PAUSE": "1", "SAVE_SECONDS": "1", "EPOCHS": str(EPOCHS)}
        job = lessons.example("10-checkpoint", CHECKPOINTS=f"/checkpoints/{name}", **slow)
        lab.apply(job)
        faults = Faults(lab, name)
        inflicted = (
            faults.kill_a_worker,
            faults.evict_a_worker,
            faults.kill_the_one_that_saves,
            faults.tear_a_checkpoint,
        )
        for attempt, inflict in enumerate(inflicted, 1):
            wait_for_steps(lab, attempt)
            inflict()
        reports = lessons.finished(lab, job)
    status = lab.status("checkpoint")
    assert status["attempt"] == len(inflicted) + 1
    assert status["disruptions"] == 1
    assert status["restarts"] == 0, "exit code 137 is charged to no budget"
    lessons.check_ranks(reports, 3)
    lessons.check_replicas(reports)
    lost = check_diary(reports[0]["diary"], faults.torn)
    said = lessons.check_losses(reports, alone, epochs=EPOCHS)
    record_property("checked", f"{said}; steps lost by fault: {lost}")


def wait_for_steps(lab: Namespace, attempt: int) -> None:
    """Wait until an attempt has trained for about twenty seconds."""
    lab.wait_for("checkpoint", lambda status: _runs(status, attempt))
    lab.wait_for_line(MASTER, "rank 0 begins after")
    words = lab.kubectl("logs", MASTER).partition("rank 0 begins after ")[2]
    due = int(words.split()[0]) + APART
    lab.wait_for_line(MASTER, f"saving after {due - due % EVERY} steps")


def _runs(status: Manifest, attempt: int) -> bool:
    return (status.get("attempt"), status.get("phase")) == (attempt, "Running")


def check_diary(diary: list[Report], torn: str) -> list[int]:
    """What each attempt began with and did; the steps that each fault has cost."""
    attempts = [[line for line in diary if line["attempt"] == number] for number in range(1, 6)]
    begins = [{line["begins"] for line in lines if "begins" in line} for lines in attempts]
    assert all(len(begin) == 1 for begin in begins), "all ranks go on from the same step"
    firsts = [begin.pop() for begin in begins]
    lasts = [max(line["step"] for line in lines if "step" in line) for lines in attempts]
    assert (firsts[0], lasts[-1]) == (0, STEPS)
    lost = [last - first for last, first in zip(lasts, firsts[1:], strict=False)]
    killed, evicted, saving, tearing = lost
    assert 0 <= killed <= EVERY
    assert evicted == 0, "who is told to stop loses nothing"
    assert 0 < saving <= EVERY
    assert EVERY <= tearing <= 2 * EVERY, "the checkpoint before the torn one"
    check_stops(attempts[1], lasts[1])
    assert any(Path(name).suffix == ".partial" for name in there(attempts[3])), "killed in a save"
    assert torn in there(attempts[4])
    assert sum("step" in line for line in diary) == STEPS + sum(lost), "each step is accounted for"
    return lost


def check_stops(lines: list[Report], last: int) -> None:
    """All ranks have stopped after the same step, whenever each was told to: one was first."""
    stops = [line for line in lines if "stops" in line]
    assert [line["rank"] for line in sorted(stops, key=lambda line: line["rank"])] == [0, 1, 2]
    assert {line["stops"] for line in stops} == {last}
    assert 1 in [line["rank"] for line in stops if line["told"]]


def there(lines: list[Report]) -> list[str]:
    """The files that an attempt has found."""
    return next(line["there"] for line in lines if "begins" in line)
