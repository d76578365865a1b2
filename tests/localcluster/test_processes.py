"""A process is known by its id and its start, never by its id alone."""

import dataclasses
import pathlib
import subprocess
import sys

import pytest

from localcluster import errors, places, processes

AWAY = "import time; time.sleep(60)"


@pytest.fixture
def at(tmp_path: pathlib.Path) -> places.Places:
    found = places.Places(tmp_path / "state", tmp_path / "run")
    found.logs.mkdir(parents=True)
    return found


@pytest.fixture
def starter(at: places.Places) -> processes.Starter:
    return processes.Starter(at, at.state)


@pytest.mark.parametrize(
    ("stat", "ticks"),
    [
        pytest.param(f"1 (sh) S {'0 ' * 18}77 0", 77, id="plain"),
        pytest.param(f"1 (a) b) R {'0 ' * 18}77 0", 77, id="a name with a bracket"),
        pytest.param(f"1 (sh) Z {'0 ' * 18}77 0", None, id="a zombie is over"),
    ],
)
def test_start_ticks(stat: str, ticks: int | None) -> None:
    assert processes.start_ticks(stat) == ticks


def test_another_process_with_the_same_id_is_left_alone(starter: processes.Starter) -> None:
    record = starter.start("sleeper", [sys.executable, "-c", AWAY])
    stranger = dataclasses.replace(record, started=record.started - 1)
    processes.stop([stranger], patience=1)
    assert processes.alive(record)
    processes.stop([record], patience=5)
    assert not processes.alive(record)


def test_records_outlive_the_program_that_wrote_them(starter: processes.Starter) -> None:
    record = starter.start("sleeper", [sys.executable, "-c", AWAY])
    assert processes.read(starter.at.records) == [record]
    (starter.at.records / "broken.json").write_text("{")
    assert processes.read(starter.at.records) == [record]
    processes.stop([record], patience=5)


def test_one_that_ends_at_once_is_told_with_its_log(starter: processes.Starter) -> None:
    record = starter.start("failing", [sys.executable, "-c", "exit('no such disk')"])
    with pytest.raises(errors.ClusterError, match=r"failing ended at once(.|\n)*no such disk"):
        processes.wait([record], starter.at, lambda: False, patience=10)


def test_a_stubborn_process_is_ended(starter: processes.Starter) -> None:
    deaf = "import signal, time; signal.signal(15, signal.SIG_IGN); print('deaf', flush=True)"
    record = starter.start("deaf", [sys.executable, "-c", f"{deaf}; time.sleep(60)"])
    log = starter.at.logs / "deaf.log"
    assert processes.until(lambda: "deaf" in log.read_text(), patience=10)
    processes.stop([record], patience=0.3)
    assert not processes.alive(record)


def test_the_clusters_own_networks_never_go_through_a_proxy() -> None:
    kept = processes.proxies({"HTTPS_PROXY": "http://proxy:1", "NO_PROXY": "corp", "SECRET": "x"})
    assert kept["HTTPS_PROXY"] == "http://proxy:1"
    assert kept["NO_PROXY"].split(",")[0] == "corp"
    assert places.SERVICES in kept["no_proxy"]
    assert "SECRET" not in kept
    assert processes.proxies({"HOME": "/root"}) == {}


def test_no_process_has_no_start() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    assert processes.started(child.pid) is None
