"""`doctor --try`: what it runs, what it says of what came of it, and that nothing is left."""

import asyncio
import json
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cli.clients import FakeClient, a_state
from trainingjobs.cli import meeting, screen
from trainingjobs.cli.app import app
from trainingjobs.cli.commands import doctor, trying
from trainingjobs.cli.views.health import Check
from trainingjobs.client.errors import ClientError
from trainingjobs.client.job import Job, Manifest
from trainingjobs.client.script import Script

SCRIPT = Path(meeting.__file__)
WELL = Check("cluster", "ok", "Kubernetes v1.37.2")


class Cluster(FakeClient):
    """A cluster that makes jobs, and remembers which were taken away."""

    def __init__(self, *states: Job, events: tuple[Manifest, ...] = (), refuses: str = "") -> None:
        super().__init__(*states)
        self.last = states[-1]
        self.events, self.refuses = events, refuses
        self.sent: list[Script] = []
        self.deleted: list[str] = []

    async def train(self, script: Script, name: str | None = None) -> str:
        """Its name, if jobs may be made here."""
        if self.refuses:
            raise ClientError(self.refuses)
        self.sent.append(script)
        return str(name)

    async def watch_job(self, name: str) -> Any:
        """Every state, and then nothing more happens."""
        del name
        for state in self.states:
            yield state
        await asyncio.sleep(3600)

    async def get_job(self, name: str) -> Job:
        """The last state."""
        del name
        return self.last

    async def get_job_events(self, job: Job) -> tuple[Manifest, ...]:
        """Those that were given."""
        del job
        return self.events

    async def delete_job(self, name: str) -> None:
        """Take it away."""
        self.deleted.append(name)


def doctored(monkeypatch: pytest.MonkeyPatch, cluster: Cluster, *args: str) -> Result:
    async def looked(*_: object) -> list[Check]:
        return [WELL]

    monkeypatch.setattr(screen, "connect", lambda: cluster)
    monkeypatch.setattr(doctor, "_looked", looked)
    return CliRunner().invoke(app, ["doctor", "--try", *args])


def a_pull(image: str, **more: Any) -> Manifest:
    message = f'Successfully pulled image "{image}" in 2.1s'
    return {"reason": "Pulled", "message": message, **more}


def test_a_group_that_has_met_is_well_and_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(
        a_state("Pending"), a_state("Succeeded"), events=(a_pull("torch:1", count=2),)
    )
    shown = doctored(monkeypatch, cluster, "--image", "torch:1", "--user", "1000", "--cpus", "2")
    assert shown.exit_code == 0, shown.output
    well, tried = shown.stdout.splitlines()
    assert well.endswith(WELL.words)
    assert tried.startswith("ok  try       3 pods ran torch:1 (2 pulled it), and all workers found")
    (script,) = cluster.sent
    assert (script.instances, script.user, script.cpus, script.max_restarts) == (3, 1000, "2", 0)
    assert script.files == {"doctor.py": SCRIPT.read_text()}
    (name,) = cluster.deleted
    assert name.startswith("doctor-")


def test_one_that_has_not_is_bad_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = a_state("Failed")
    failed.status["message"] = "rank 1 exited with code 1: mnist-master cannot be reached"
    shown = doctored(monkeypatch, Cluster(failed), "--image", "torch:1", "-o", "json")
    told = json.loads(shown.stdout)
    assert (shown.exit_code, told["well"]) == (1, False)
    assert told["checks"][-1]["about"] == "try"
    assert "mnist-master cannot be reached" in told["checks"][-1]["words"]


def test_one_that_does_not_end_is_taken_away_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(a_state("Pending"))
    shown = doctored(monkeypatch, cluster, "--image", "torch:1", "--timeout", "0.1s")
    assert shown.exit_code == 1
    assert "BAD try       not over after 0.1 s: mnist is Pending" in shown.stdout
    assert len(cluster.deleted) == 1


def test_one_that_may_not_be_made_is_bad(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = doctored(monkeypatch, Cluster(a_state(""), refuses="you may not"), "--image", "a")
    assert "BAD try       no job could be run: you may not" in shown.stdout
    assert shown.exit_code == 1


def test_who_may_read_no_events_is_told_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refused(_: Job) -> tuple[Manifest, ...]:
        raise ClientError("you may not list events")

    cluster = Cluster(a_state("Succeeded"))
    monkeypatch.setattr(cluster, "get_job_events", refused)
    shown = doctored(monkeypatch, cluster, "--image", "torch:1")
    assert "ok  try       3 pods ran torch:1" in shown.stdout


def test_it_needs_an_image(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = doctored(monkeypatch, Cluster(a_state("")))
    assert shown.exit_code == 2
    assert "--image" in shown.stderr


def test_a_pod_alone_meets_nobody() -> None:
    alone = trying.meeting_of("torch:1", 1, {})
    assert trying.met(alone, [a_pull("torch:2")]) == "a pod ran torch:1 (no node had to pull it)"


def a_rank(rank: int, *, host: str = "localhost", port: int, patience: float = 60) -> Any:
    env = {"MASTER_ADDR": host, "MASTER_PORT": str(port), "RANK": str(rank), "WORLD_SIZE": "3"}
    return subprocess.Popen(
        [sys.executable, "-I", str(SCRIPT)],
        env={**env, "PATIENCE": str(patience)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def a_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def test_ranks_meet_in_any_order_and_strangers_count_for_none() -> None:
    port = a_port()
    ranks = [a_rank(1, port=port), a_rank(0, port=port)]
    limit = time.monotonic() + 60
    for _ in range(3):  # somebody who says nothing
        while time.monotonic() < limit:
            try:
                socket.create_connection(("localhost", port)).close()
                break
            except ConnectionRefusedError:
                time.sleep(0.05)
    assert ranks[1].poll() is None, "the last one is waited for"
    ranks.append(a_rank(2, port=port))
    said = [rank.communicate(timeout=60)[0] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0, 0]
    assert said == [
        "rank 1 has met localhost\n",
        "rank 0 has met all others\n",
        "rank 2 has met localhost\n",
    ]


def test_a_name_that_nobody_knows_is_told() -> None:
    rank = a_rank(1, host="no-such-master.invalid", port=1, patience=0)
    assert "no-such-master.invalid cannot be reached at port 1: " in rank.communicate(timeout=60)[1]
    assert rank.returncode == 1
