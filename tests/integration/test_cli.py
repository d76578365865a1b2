"""The command line and the SDK against a real API server, with statuses written by hand."""

import json
import os
import pty
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from integration.jobs import Body, Jobs, a_job
from integration.server import ApiServer
from trainingjobs.client import AsyncTrainingJobClient, ClientError, Script, TrainingJobClient
from trainingjobs.client import script as scripts
from trainingjobs.client.errors import GoneError, NotFoundError, TooLateError

pytestmark = pytest.mark.integration

Store = Callable[..., Body]
Tj = Callable[..., subprocess.CompletedProcess[str]]

RUNNING = {"phase": "Running", "ready": "3/3", "progress": "40%", "attempt": 1}
HOSTILE = {"phase": "Pending", "message": "\x1b[2J\u202eno room"}
FAILED = {
    "phase": "Failed",
    "message": "rank 1 exited with code 1",
    "failure": {"rank": 1, "pod": "x-worker-0", "exitCode": 1, "reason": "Error", "message": "oh"},
}


def tj(kubeconfig: Path, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    """What the command line says, as a program of its own."""
    command = [sys.executable, "-m", "trainingjobs.cli", *args]
    own = {"KUBECONFIG": str(kubeconfig), "HOME": str(kubeconfig.parent), "PATH": "/usr/bin"}
    python = {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        command, env=own | python | env, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.fixture(name="tj")
def tj_(apiserver: ApiServer) -> Tj:
    return lambda *args, **env: tj(apiserver.kubeconfig, *args, **env)


@pytest.fixture
def sdk(apiserver: ApiServer) -> Any:
    with TrainingJobClient(kubeconfig=str(apiserver.kubeconfig)) as client:
        yield client


def a_name(job: Body) -> str:
    return str(job["metadata"]["name"])


def test_list(tj: Tj, jobs: Jobs, stored: Store) -> None:
    job, silent = stored(), stored()
    assert jobs.write_status(job, RUNNING).accepted
    shown = [line.split() for line in tj("list").stdout.splitlines()]
    assert shown[0] == ["NAME", "PHASE", "READY", "PROGRESS", "RESTARTS", "AGE"]
    assert [a_name(job), "Running", "3/3", "40%", "0"] in [row[:5] for row in shown]
    assert [a_name(silent), "Unseen", "0/3", "0"] in [row[:4] for row in shown]
    named = tj("list", "-o", "name", "--status", "running").stdout.split()
    assert named == [f"trainingjob.trainingjob.dev/{a_name(job)}"]
    items = json.loads(tj("list", "-A", "-o", "json").stdout)["items"]
    assert {a_name(job), a_name(silent)} <= {a_name(item) for item in items}
    assert yaml.safe_load(tj("list", "-o", "yaml").stdout)["kind"] == "List"


def test_words_from_the_cluster_reach_no_terminal_raw(tj: Tj, jobs: Jobs, stored: Store) -> None:
    job = stored()
    assert jobs.write_status(job, HOSTILE).accepted
    for command in (["list", "-o", "wide"], ["describe", a_name(job)], ["why", a_name(job)]):
        shown = tj(*command).stdout
        assert r"\x1b[2J\u202eno room" in shown
        assert not {"\x1b", "\u202e"} & set(shown)


def test_describe_and_why(tj: Tj, jobs: Jobs, stored: Store) -> None:
    job = stored()
    assert jobs.write_status(job, FAILED).accepted
    shown = tj("describe", f"tj/{a_name(job)}").stdout
    assert "Root cause:\n  rank 1 (x-worker-0): Error, exit code 1\n    | oh\n" in shown
    assert f"retry {a_name(job)}" in shown
    said = tj("why", a_name(job)).stdout
    assert said.startswith(
        f"{a_name(job)} has failed. rank 1 exited with code 1. its last lines: oh."
    )
    assert tj("describe", a_name(job), "-o", "json").stdout.startswith("{")


@pytest.mark.parametrize(
    ("args", "words", "code"),
    [
        (["describe", "absent"], "not found", 1),
        (["wait", "absent", "--timeout", "5s"], "no job absent in namespace default", 3),
        (["list", "--context", "absent"], "Context 'absent' not found", 1),
        (["list", "--kubeconfig", "/absent"], "/absent", 1),
    ],
)
def test_what_goes_wrong_is_one_line(tj: Tj, args: list[str], words: str, code: int) -> None:
    done = tj(*args)
    assert done.returncode == code
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_api_server_that_is_not_there(apiserver: ApiServer, tmp_path: Path) -> None:
    config = yaml.safe_load(apiserver.kubeconfig.read_text())
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    other = tmp_path / "kubeconfig"
    other.write_text(yaml.safe_dump(config))
    done = tj(other, "list")
    assert done.returncode == 1
    assert done.stderr.startswith("error: the API server cannot be reached (127.0.0.1:1): ")
    config["users"][0]["user"]["token"] = "wrong"
    config["clusters"][0]["cluster"]["server"] = apiserver.url
    other.write_text(yaml.safe_dump(config))
    assert "log in to the cluster again" in tj(other, "list").stderr
    other.write_text("a: [")
    assert "is no kubeconfig" in tj(other, "list").stderr


def test_an_exec_plugin_of_the_current_version(apiserver: ApiServer, tmp_path: Path) -> None:
    config = yaml.safe_load(apiserver.kubeconfig.read_text())
    answer = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": apiserver.token},
    }
    script = (
        "import json, os; asked = json.loads(os.environ['KUBERNETES_EXEC_INFO'])\n"
        "assert asked['apiVersion'].endswith('/v1'), asked\n"
        f"print(json.dumps({answer!r}))"
    )
    config["users"][0]["user"] = {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": sys.executable,
            "args": ["-c", script],
            "interactiveMode": "Never",
        }
    }
    other = tmp_path / "kubeconfig"
    other.write_text(yaml.safe_dump(config))
    done = tj(other, "list", "-n", "nothing-here")
    assert done.stderr == "no jobs in namespace nothing-here\n"
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("status", "args", "code"),
    [
        ({"phase": "Succeeded"}, [], 0),
        (FAILED, [], 1),
        (FAILED, ["--for", "Failed"], 0),
        (RUNNING, ["--for", "running"], 0),
        (RUNNING, ["--timeout", "0.5s"], 124),
        (RUNNING, ["--timeout", "soon"], 2),
    ],
    ids=["done", "failed", "failed as hoped", "running", "too late", "no time"],
)
def test_wait(
    tj: Tj, jobs: Jobs, stored: Store, *, status: Body, args: list[str], code: int
) -> None:
    job = stored()
    assert jobs.write_status(job, status).accepted
    assert tj("wait", a_name(job), *args).returncode == code


def test_the_sdk_waits_by_a_watch(sdk: TrainingJobClient, jobs: Jobs, stored: Store) -> None:
    job = stored()
    steps = iter([RUNNING, {"phase": "Succeeded"}])
    phases = []
    for state in sdk.watch_job(a_name(job)):
        phases.append(state.phase)
        if state.finished:
            break
        assert jobs.write_status(job, next(steps)).accepted
    assert phases == ["", "Running", "Succeeded"]
    assert sdk.wait_for_job_status(a_name(job)).succeeded
    with pytest.raises(ClientError, match="has succeeded"):
        sdk.wait_for_job_status(a_name(job), {"Running"})


def test_the_sdk_names_what_is_not_there(sdk: TrainingJobClient, stored: Store) -> None:
    with pytest.raises(NotFoundError):
        sdk.get_job("absent")
    name = a_name(stored())
    assert name in [job.name for job in sdk.list_jobs()]
    with pytest.raises(TimeoutError) as late:
        sdk.wait_for_job_status(name, timeout=0.3)
    assert isinstance(late.value, TooLateError)


def test_a_job_that_is_deleted_ends_the_wait(sdk: TrainingJobClient, jobs: Jobs) -> None:
    jobs.create(a_job("goes"))
    deleting = threading.Timer(0.3, lambda: jobs.delete("goes"))
    deleting.start()
    with pytest.raises(GoneError):
        sdk.wait_for_job_status("goes", timeout=30)


async def test_the_asynchronous_client(apiserver: ApiServer, stored: Store) -> None:
    name = a_name(stored())
    async with AsyncTrainingJobClient(kubeconfig=str(apiserver.kubeconfig)) as client:
        job = await client.get_job(name)
        assert (job.name, job.size, job.phase) == (name, 3, "")
        assert await client.get_job_events(job) == []
        await client.delete_job(name)
        with pytest.raises(NotFoundError):
            await client.get_job(name)
        await client.create_job({**job.manifest, "metadata": {"name": name}})


def test_a_script_is_sent_with_its_job(tj: Tj, jobs: Jobs, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print('hello')\n")
    path = str(tmp_path / "train.py")
    made = tj("submit", path, "-n", "2", "--image", "x", "--name", "sent", "--no-wait")
    assert made.stdout == "trainingjob.trainingjob.dev/sent created\n", made.stderr
    assert jobs.read("sent")["spec"]["PARALLEL_INSTANCES"] == 2
    refused = tj("submit", path, "--image", "x", "--name", "sent", "--no-wait")
    assert 'trainingjobs.trainingjob.dev "sent" already exists' in refused.stderr
    assert jobs.write_status(jobs.read("sent"), {"phase": "Failed"}).accepted
    again = tj("retry", "sent", "--no-wait")
    assert again.stdout == "trainingjob.trainingjob.dev/sent-r2 created\n", again.stderr
    gone = tj("cancel", "sent", "tj/sent-r2")
    assert gone.stdout.splitlines() == [
        "trainingjob.trainingjob.dev/sent deleted",
        "trainingjob.trainingjob.dev/sent-r2 deleted",
    ]


def test_a_script_outlives_the_job_that_it_was_sent_with(
    sdk: TrainingJobClient, apiserver: ApiServer, jobs: Jobs
) -> None:
    name = sdk.train(Script(files={"a.py": "1"}, image="x"))
    assert jobs.write_status(jobs.read(name), {"phase": "Succeeded"}).accepted
    assert sdk.retry_job(name) == f"{name}-r2"
    (sent,) = scripts.sent_with(jobs.read(name))
    found = json.loads(apiserver.kubectl("get", "configmap", sent, "-o", "json").stdout)
    uids = [jobs.read(one)["metadata"]["uid"] for one in (name, f"{name}-r2")]
    assert [owner["uid"] for owner in found["metadata"]["ownerReferences"]] == uids
    with pytest.raises(ClientError, match="is not over"):
        sdk.retry_job(f"{name}-r2")


def test_a_job_is_stopped_scaled_and_goes_on(tj: Tj, jobs: Jobs, stored: Store) -> None:
    job = stored()
    name = a_name(job)
    refused = tj("scale", name, "5")
    assert refused.returncode == 1
    assert "PARALLEL_INSTANCES cannot change while the job runs" in refused.stderr
    assert tj("suspend", name).stdout == f"trainingjob.trainingjob.dev/{name} suspended\n"
    assert tj("scale", name, "5").stdout.endswith("scaled to 5\n")
    assert tj("resume", name).returncode == 0
    assert tj("resume", name).stdout.endswith("unchanged\n")
    spec = jobs.read(name)["spec"]
    assert (spec["suspend"], spec["PARALLEL_INSTANCES"]) == (False, 5)
    assert jobs.write_status(job, {"phase": "Succeeded"}).accepted
    assert f"retry {name}` runs it anew" in tj("suspend", name).stderr


def test_a_manifest_that_is_refused_is_told_in_the_servers_words(tj: Tj, tmp_path: Path) -> None:
    wrong = a_job("wrong", PARALLEL_INSTANCES=0)
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(wrong))
    done = tj("submit", str(tmp_path / "job.yaml"))
    assert done.returncode == 1
    assert "spec.PARALLEL_INSTANCES" in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_doctor_of_a_cluster_without_an_operator(tj: Tj) -> None:
    done = tj("doctor", "--pods", "2", "--cpus", "1")
    assert done.returncode == 1, done.stderr
    said = {line[:3].strip(): line for line in done.stdout.splitlines() if "rights" not in line}
    assert "no operator is installed: helm install" in done.stdout
    assert "trainingjobs.trainingjob.dev is served" in done.stdout
    assert "you may create TrainingJobs in default" in done.stdout
    assert "0 have room; 0 of 0 nodes" in said["BAD"]


def test_the_doctor_sees_a_dns_that_is_no_pod_in_what_found_each_other(
    tj: Tj, jobs: Jobs, stored: Store
) -> None:
    job, now = stored(), datetime.now(UTC).isoformat(timespec="seconds")
    joined = {"type": "Registered", "status": "True", "reason": "AllRanksJoined", "message": ""}
    status = {**RUNNING, "conditions": [{**joined, "lastTransitionTime": now}]}
    assert jobs.write_status(job, status).accepted
    shown = tj("doctor").stdout
    assert f"ok  dns       the ranks of default/{a_name(job)} found each other by name" in shown


def test_top_shows_a_job_once_where_nobody_watches(tj: Tj, jobs: Jobs, stored: Store) -> None:
    job = stored()
    assert jobs.write_status(job, RUNNING).accepted
    shown = tj("top", a_name(job))
    assert "Progress:   40%" in shown.stdout, shown.stderr
    assert "Ranks:" in shown.stdout
    assert "What to do next" not in shown.stdout


def test_top_paints_until_the_job_is_over(apiserver: ApiServer, jobs: Jobs, stored: Store) -> None:
    job = stored()
    assert jobs.write_status(job, RUNNING).accepted
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "trainingjobs.cli", "top", a_name(job)]
    env = {**os.environ, "KUBECONFIG": str(apiserver.kubeconfig), "TERM": "xterm"}
    env["PYTHONPATH"] = os.pathsep.join(sys.path)
    with subprocess.Popen(command, env=env, stdout=theirs) as painting:
        os.close(theirs)
        picture = b""
        while b"40%" not in picture:
            picture += os.read(ours, 65_536)
        assert jobs.write_status(job, {**RUNNING, "phase": "Succeeded"}).accepted
        while b"Succeeded" not in picture:
            picture += os.read(ours, 65_536)
        assert painting.wait(20) == 0
    os.close(ours)
