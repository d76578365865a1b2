"""MPI jobs on real pods: Open MPI's own launcher, in a namespace that takes no privileged pod.

The ranks are shells where that is enough: six interpreters with torch take a minute to start.
"""

from typing import Any

import pytest

from e2e import jobs
from e2e.harness import Manifest, Namespace, lines

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

# a rank that ends as it starts may be lost: Open MPI 5.0.7 then waits for it for ever (docs/mpi.md)
LIVES = "sleep 1"
WHO = f'echo "rank $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE on $(hostname)"; {LIVES}'
RANKS = [f"rank {rank} of 6 on m-{pod}" for rank, pod in enumerate(
    ["master", "master", "worker-0", "worker-0", "worker-1", "worker-1"]
)]  # fmt: skip
ONCE = 'if [ "$TRAININGJOB_ATTEMPT" = 1 ]; then echo waiting; sleep 600; fi'


def a_template(script: str, **pod: Any) -> Manifest:
    """A pod whose command is mpirun, for shells."""
    made = jobs.a_template()
    made["spec"]["containers"][0]["command"] = ["mpirun", "sh", "-c", script]
    made["spec"] |= pod
    return made


def a_job(script: str, template: Manifest | None = None, **spec: Any) -> Manifest:
    """Three pods of two ranks each; they stay when the job ends."""
    known = {"framework": "MPI", "processesPerInstance": 2, "cleanPodPolicy": "None", **spec}
    return jobs.a_job("m", 3, template or a_template(script), **known)


def test_six_ranks_on_three_pods(lab: Namespace) -> None:
    lab.apply(a_job(WHO))
    status = lab.wait_for_end("m")
    assert (status["phase"], status["message"]) == ("Succeeded", "the master's command succeeded")
    log = lab.kubectl("logs", "m-master").splitlines()
    assert sorted(line for line in log if line.startswith("rank")) == RANKS
    lab.wait("pods", lambda pods: all(it["status"]["phase"] == "Succeeded" for it in pods.values()))
    assert lab.kubectl("get", "secrets", "-o", "name").count("secret/m-launch-key-") == 1


def test_a_master_alone(lab: Namespace) -> None:
    lab.apply(jobs.a_job("m", 1, a_template(WHO), framework="MPI", cleanPodPolicy="None"))
    assert lab.wait_for_end("m")["phase"] == "Succeeded"
    assert "rank 0 of 1 on m-master" in lab.kubectl("logs", "m-master")


def test_the_launcher_waits_for_a_worker_that_comes_late(lab: Namespace) -> None:
    late = {"name": "late", "image": jobs.IMAGE, "securityContext": jobs.CONTAINER_SECURITY}
    late["command"] = ["sh", "-c", 'case "$(hostname)" in *worker-1) sleep 20;; esac']
    lab.apply(a_job(WHO, a_template(WHO, initContainers=[late])))
    lab.wait_for_line("m-master", "launch: waits for ")
    assert lab.wait_for_end("m")["phase"] == "Succeeded"
    log = lab.kubectl("logs", "m-master")
    waits, _, ranks = log.partition("rank ")
    assert "m-worker-1 (" in waits
    assert "waits" not in ranks


def test_a_worker_that_is_killed_restarts_the_group(lab: Namespace) -> None:
    lab.apply(a_job(f"{ONCE}; {WHO}"))
    lab.wait_for_line("m-master", "waiting")
    lab.kubectl("delete", "pod", "m-worker-0", "--grace-period=0", "--force")
    status = lab.wait_for_end("m")
    assert (status["phase"], status["attempt"], status["restarts"]) == ("Succeeded", 2, 0)
    assert status["disruptions"] == 1
    log = lab.kubectl("logs", "m-master").splitlines()
    assert sorted(line for line in log if line.startswith("rank")) == RANKS


def test_the_exit_code_of_a_rank_is_the_jobs(lab: Namespace) -> None:
    fails = f'{LIVES}; if [ "$OMPI_COMM_WORLD_RANK" = 3 ]; then exit 9; fi; sleep 600'
    rules = [{"exitCodes": [9], "action": "Fail"}]
    lab.apply(a_job(fails, failureRules=rules))
    status = lab.wait_for_end("m")
    assert (status["phase"], status["failure"]["exitCode"]) == ("Failed", 9)


def test_workers_that_cannot_be_reached_cost_nothing(lab: Namespace) -> None:
    template = a_template(WHO)
    main = template["spec"]["containers"][0]
    main["env"] = [{"name": "TRAININGJOB_LAUNCH_SECONDS", "value": "1"}]
    # the master reaches nobody: its workers still prepare
    slow = {"name": "slow", "image": jobs.IMAGE, "securityContext": jobs.CONTAINER_SECURITY}
    slow["command"] = ["sh", "-c", 'case "$(hostname)" in *worker-*) sleep 600;; esac']
    template["spec"]["initContainers"] = [slow]
    lab.apply(a_job(WHO, template, maxRestarts=0))
    status = lab.wait_for("m", lambda status: bool(status.get("attempts")))
    assert status["attempts"][0]["reason"] == "WorkersUnreachable"
    assert (status["restarts"], status["phase"]) == (0, "Restarting")
    assert "launch: could not reach 2 of 2 workers: m-worker-0 (" in status["failure"]["message"]


SAVES = (
    "trap 'sleep 4; echo saved $OMPI_COMM_WORLD_RANK; exit 0' TERM; echo waiting; "
    "while :; do sleep 0.1; done"
)


def test_ranks_have_the_whole_grace_to_save_their_work(lab: Namespace) -> None:
    """Open MPI 5 kills its ranks a third of a second after it has told them to stop."""
    lab.apply(a_job(SAVES, a_template(SAVES, terminationGracePeriodSeconds=30)))
    lab.wait_for_line("m-master", "waiting")
    follow = lab.cluster.command(f"--namespace={lab.name}", "logs", "--follow", "m-master")
    saved = follow_until_suspended(lab, follow)
    assert saved == [f"saved {rank}" for rank in range(6)]


def follow_until_suspended(lab: Namespace, command: list[str]) -> list[str]:
    """What the ranks say of their saving while the job is suspended."""
    told = lines(command)
    next(told)
    lab.patch("m", suspend=True)
    return sorted(line.strip() for line in told if line.startswith("saved"))
