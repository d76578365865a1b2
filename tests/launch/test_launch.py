"""The master's part: whom it waits for, how long, and what becomes of the launcher."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from _trainingjob_launch import launch, wire
from launch.given import KEY, PATIENCE, Pods, until


def test_it_launches_when_every_worker_answers(pods: Pods, tmp_path: Path) -> None:
    master = pods.start("launch", "--", "touch", str(tmp_path / "launched"))
    line = until(lambda: master.stderr and master.stderr.readline())
    assert line == ("launch: waits for 1 of 1 workers: 127 (refuses the connection)\n")
    assert not (tmp_path / "launched").exists()
    door = pods.open_door()
    assert master.wait(PATIENCE) == 0
    assert (tmp_path / "launched").exists()
    assert door.wait(PATIENCE) == 0


def test_a_master_alone_waits_for_nobody(pods: Pods) -> None:
    pods.size = 1
    ran = pods.run("launch", "--", "sh", "-c", "echo $0 $1", "a", "--", "b")
    assert (ran.stdout, ran.returncode) == ("a --\n", 0)


@pytest.mark.parametrize(
    ("worker", "why"),
    [
        ("127.0.0.1%d", "127 (refuses the connection)"),
        ("worker-%d.invalid", "worker-0 (its name does not resolve)"),
    ],
)
def test_it_gives_up_with_a_code_and_a_sentence_of_its_own(
    pods: Pods, worker: str, why: str
) -> None:
    patience = {"TRAININGJOB_LAUNCH_SECONDS": "0.2", "TRAININGJOB_WORKER_ADDR": worker}
    ran = pods.run("launch", "--", "true", **patience)
    assert ran.returncode == 75
    last = ran.stderr.splitlines()[-1]
    assert last.startswith(f"launch: could not reach 1 of 1 workers: {why}")
    assert "NetworkPolicy" in last


@pytest.fixture
def deaf(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Workers that take their time and do not answer; who was asked."""
    hosts: list[str] = []

    def ask(_own: object, host: str, _purpose: str) -> None:
        hosts.append(host)
        time.sleep(0.4)
        raise wire.WireError("no answer")

    monkeypatch.setattr(wire, "ask", ask)
    return hosts


def test_its_patience_ends_within_a_round(pods: Pods, deaf: list[str]) -> None:
    own = pods.group._replace(size=1001)
    missing = launch.gather(own, 0.6)
    assert len(deaf) <= 3 * 32
    assert len(missing) == 1000
    assert missing[own.workers[0]] == "no answer"
    assert missing[own.workers[-1]] == "there was no time to ask"


@pytest.mark.usefixtures("deaf")
def test_it_tells_in_the_first_round_who_is_missing(
    pods: Pods, capsys: pytest.CaptureFixture[str]
) -> None:
    launch.gather(pods.group._replace(size=161), 0)
    assert capsys.readouterr().err == ""
    launch.gather(pods.group._replace(size=161), 1.4)
    assert capsys.readouterr().err.startswith("launch: waits for ")


def test_a_worker_with_another_key_is_named(pods: Pods) -> None:
    pods.give(b"another")
    pods.open_door()
    pods.give(KEY)
    ran = pods.run("launch", "--", "true", TRAININGJOB_LAUNCH_SECONDS="0.2")
    assert (ran.returncode, "127 (wrong key)" in ran.stderr) == (75, True)


@pytest.mark.parametrize(
    ("command", "code"),
    [("exit 3", 3), ("kill -9 $$", 137), ("exit 75", 75), ("kill $$", 143)],
)
def test_its_exit_code_is_the_launchers(pods: Pods, command: str, code: int) -> None:
    door = pods.open_door()
    assert pods.run("launch", "--", "sh", "-c", command).returncode == code
    assert door.poll() is None


def test_a_launcher_that_is_not_there_is_told(pods: Pods) -> None:
    pods.size = 1
    ran = pods.run("launch", "--", "/no/such/mpirun")
    assert (ran.returncode, ran.stderr) == (
        127,
        "launch: cannot start /no/such/mpirun: No such file or directory\n",
    )


def test_the_launcher_finds_our_ssh(pods: Pods) -> None:
    pods.open_door()
    ran = pods.run("launch", "--", "sh", "-c", "ssh -x 127.0.0.10 'echo at the worker'")
    assert ran.stdout == "at the worker\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_signals_go_on_to_the_launcher(pods: Pods, tmp_path: Path, number: signal.Signals) -> None:
    pods.size = 1
    name = number.name.removeprefix("SIG")
    loop = f"trap 'exit 9' {name}; touch {tmp_path}/begun; while :; do sleep 0.05; done"
    master = pods.start("launch", "--", "sh", "-c", loop)
    until((tmp_path / "begun").exists)
    master.send_signal(number)
    assert master.wait(PATIENCE) == 9


def test_a_signal_does_not_take_in_the_launchers_end() -> None:
    with subprocess.Popen(["true"]) as process:
        stat = Path(f"/proc/{process.pid}/stat")
        until(lambda: stat.read_text().rpartition(")")[2].split()[0] == "Z")
        launch.tell(process, signal.SIGUSR1)
        assert os.waitpid(process.pid, 0)[1] == 0
        launch.tell(process, signal.SIGUSR1)


def test_ranks_are_told_to_stop_before_their_launcher(pods: Pods, tmp_path: Path) -> None:
    pods.size = 1
    (tmp_path / "rank.sh").write_text(
        f"trap 'sleep 0.5; touch {tmp_path}/saved; exit 0' TERM; touch {tmp_path}/begun; "
        "while :; do sleep 0.05; done"
    )
    launcher = (
        f"trap 'exit 9' TERM; OMPI_COMM_WORLD_RANK=0 sh {tmp_path}/rank.sh & wait $!; exit $?"
    )
    master = pods.start("launch", "--", "sh", "-c", launcher)
    until((tmp_path / "begun").exists)
    master.send_signal(signal.SIGTERM)
    assert master.wait(PATIENCE) == 0
    assert (tmp_path / "saved").exists()


def test_told_to_stop_while_it_waits_it_stops_at_once(pods: Pods) -> None:
    master = pods.start("launch", "--", "true")
    until(lambda: master.stderr and master.stderr.readline())
    master.send_signal(signal.SIGTERM)
    assert master.wait(5) == 128 + signal.SIGTERM


@pytest.mark.parametrize(
    ("text", "seconds"), [(None, 600.0), ("30", 30.0), ("0", 0.0), ("-1", 0.0), ("soon", 600.0)]
)
def test_how_long_it_waits(text: str | None, seconds: float) -> None:
    assert launch.patience({} if text is None else {launch.SECONDS: text}) == seconds


def test_only_some_are_named(pods: Pods) -> None:
    pods.size = 9
    missing = dict.fromkeys(pods.group._replace(worker="w-%d.a.b").workers, "no answer")
    words = launch.sentence(pods.group, missing)
    assert words.startswith("8 of 8 workers: w-0 (no answer), w-1 (no answer), ")
    assert words.endswith("w-4 (no answer) and 3 more")


def test_hosts_are_those_that_answer_now(pods: Pods) -> None:
    pods.size = 2
    assert pods.run("hosts").stdout == "127.0.0.1:2\n"
    pods.open_door()
    assert pods.run("hosts").stdout == "127.0.0.1:2\n127.0.0.10:2\n"
