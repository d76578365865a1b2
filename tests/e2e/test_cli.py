"""The command line with real pods: a script is sent, restarts, and every line is told once."""

import json
import re
import signal
import subprocess
import time
from collections import Counter
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest

from e2e.commandline import environment, tj
from e2e.cutting import cut_every
from e2e.harness import Namespace
from e2e.jobs import IMAGE, a_job

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

LINES = 180
SCRIPT = f"""
import os, sys, time
import shared
attempt, rank = os.environ["TRAININGJOB_ATTEMPT"], os.environ["RANK"]
if attempt == "1":
    time.sleep(5)  # until somebody follows
for number in range({LINES}):
    print("attempt", attempt, "rank", rank, "line", number, flush=True)
    if number % 30 == 0:
        time.sleep(shared.PAUSE)
    if (attempt, rank, number) == ("1", "1", 100):
        sys.exit("no such shard")
"""
SENT = ("--image", IMAGE, "--user", "1000", "--memory", "64Mi")


def test_a_script_is_followed_over_a_restart_and_lost_connections(
    lab: Namespace, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "shared.py").write_text("PAUSE = 0.5\n")
    send = ["submit", "train.py", "-n", "3", "--include", "shared.py", "--name", "talk", *SENT]
    made = subprocess.run(
        tj(lab.cluster.kubeconfig, lab, *send, "--no-wait"),
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert made.stdout == "trainingjob.trainingjob.dev/talk created\n"
    with cut_every(1.5, lab.cluster.kubeconfig, tmp_path) as (kubeconfig, way):
        done = subprocess.run(
            tj(kubeconfig, lab, "logs", "-f", "talk"),
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert way.cuts
    told = Counter(line for line in done.stdout.splitlines() if "line" in line)
    assert set(told.values()) == {1}
    for rank in range(3):
        whole = [f"[{rank}] attempt 2 rank {rank} line {number}" for number in range(LINES)]
        assert [line for line in told if line in set(whole)] == whole
    fallen = [line for line in told if line.startswith("[1] attempt 1")]
    # a pod that falls is deleted a moment later: a connection that is cut then has no second try
    assert fallen == [f"[1] attempt 1 rank 1 line {number}" for number in range(len(fallen))]
    assert ("--- attempt 2 ---" in done.stderr) == any("attempt 1" in line for line in told)
    assert "--- talk is Succeeded" in done.stderr


HANGS = """
import time

import torch.distributed as dist

def load():
    time.sleep(3600)  # guilty

def train():
    if dist.get_rank() == 1:
        load()
    dist.barrier()

dist.init_process_group("gloo")
train()
"""


def test_where_every_rank_stands(lab: Namespace, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(HANGS)
    guilty = 1 + HANGS.splitlines().index("    time.sleep(3600)  # guilty")
    place = f"train.py:{guilty} load"

    def say(*args: str) -> str:
        return subprocess.run(
            tj(lab.cluster.kubeconfig, lab, *args),
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    say("submit", "train.py", "-n", "3", "--name", "hangs", "--no-wait", *SENT, "--memory", "512Mi")
    lab.wait_for_phase("hangs", "Running")
    deadline = time.monotonic() + 60
    while not all(it in say("stacks", "hangs") for it in (place, "ranks 0, 2 (barrier")):
        assert time.monotonic() < deadline, say("stacks", "hangs")
        time.sleep(1)
    (alone,) = [line for line in say("stacks", "hangs").splitlines() if place in line]
    assert alone.startswith("rank 1 (")
    assert say("stacks", "hangs", "--rank", "1").splitlines() == [alone]
    assert f"train.py:{guilty}" in say("top", "hangs")
    lab.patch("hangs", stallTimeoutSeconds=10)
    lab.kubectl("wait", "trainingjob/hangs", "--for=condition=Stalled", "--timeout=120s")
    why = say("why", "hangs")
    assert why.startswith("hangs has stalled")
    assert re.search(
        rf"rank 1 \(hangs-worker-0 on \S+\) stands at \S*train\.py:{guilty} in load", why
    )
    say("cancel", "hangs")


def test_who_leaves_cancels_nothing(lab: Namespace, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import time; print('begun'); time.sleep(3600)\n")
    send = tj(lab.cluster.kubeconfig, lab, "submit", "train.py", "-n", "1", "--name", "long", *SENT)
    with subprocess.Popen(
        send,
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as following:
        assert following.stdout is not None
        assert following.stderr is not None
        assert any(line == "begun\n" for line in following.stdout)
        following.send_signal(signal.SIGINT)
        assert following.wait() == 130
        assert "left: the job goes on" in following.stderr.read()
    assert lab.status("long")["phase"] in {"Starting", "Running"}
    ended = subprocess.run(
        tj(lab.cluster.kubeconfig, lab, "cancel", "long"), env=environment(), check=False
    )
    assert ended.returncode == 0
    assert lab.objects("trainingjobs") == {}


@pytest.mark.parametrize(
    ("image", "code", "words"),
    [
        (IMAGE, 0, f"ok  try       2 pods ran {IMAGE} (no node had to pull it), and all workers"),
        ("localhost/none:1", 1, "BAD try       not over after 20 s: doctor-"),
    ],
)
def test_the_doctor_tries(lab: Namespace, image: str, code: int, words: str) -> None:
    own = "--try", "--user", "1000", "--pods", "2", "--image", image, "--timeout"
    limit = "5m" if code == 0 else "20s"
    done = subprocess.run(
        tj(lab.cluster.kubeconfig, lab, "doctor", *own, limit),
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    (told,) = [line for line in done.stdout.splitlines() if " try " in line]
    assert told.startswith(words), done.stderr
    assert done.returncode == code
    assert code == 0 or image in told
    assert lab.objects("trainingjobs") == {}


def test_the_pods_that_are_explained_are_those_that_run(lab: Namespace) -> None:
    lab.apply(a_job("shown", 3))
    lab.wait_for_phase("shown", "Running", "Succeeded")
    done = subprocess.run(
        tj(lab.cluster.kubeconfig, lab, "explain", "shown", "-o", "json"),
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    service, *pods = json.loads(done.stdout)["items"]
    assert missing(service, KIND | lab.objects("services")[service["metadata"]["name"]]) == []
    there = lab.objects("pods", "shown")
    assert sorted(there) == sorted(pod["metadata"]["name"] for pod in pods)
    for pod in pods:
        assert missing(pod, {**KIND, "kind": "Pod"} | there[pod["metadata"]["name"]]) == []


KIND = {"apiVersion": "v1", "kind": "Service"}
"""What the items of a list come without."""


def missing(said: Any, real: Any, at: str = "") -> list[str]:
    """What is said and is not there; the API server adds fields, and items behind ours."""
    if isinstance(said, dict) and isinstance(real, dict):
        return [it for key in said for it in missing(said[key], real.get(key), f"{at}.{key}")]
    if isinstance(said, list) and isinstance(real, list):
        pairs = enumerate(zip_longest(said, real[: len(said)]))
        return [it for place, pair in pairs for it in missing(*pair, f"{at}[{place}]")]
    return [] if said == real else [f"{at}: {said!r}, and there is {real!r}"]
