"""Groups of real processes on this machine: all end well, or the first that falls ends them."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from trainingjobs.cli.commands import local
from trainingjobs.cli.views.loglines import Look

pytestmark = pytest.mark.timeout(60)

SPEAKS = "import os; print('I am', os.environ['RANK'], 'of', os.environ['WORLD_SIZE'])"
FALLS = """
import os, pathlib, subprocess, sys, time
if os.environ["RANK"] == "1":
    while len(list(pathlib.Path().glob("child-*"))) < 2:
        time.sleep(0.01)
    sys.exit(7)
child = subprocess.Popen(["sleep", "100"])
pathlib.Path(f"child-{child.pid}").touch()
time.sleep(100)
"""
SLEEPS = """
import os, pathlib, time
pathlib.Path(f"child-{os.getpid()}").touch()
time.sleep(100)
"""


def command(folder: Path, script: str, *args: str) -> list[str]:
    (folder / "train.py").write_text(script)
    start = [sys.executable, "-m", "trainingjobs.cli", "run-local", "--python", sys.executable]
    return [*start, *args, "train.py"]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def run(folder: Path, script: str, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(folder, script, *args),
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )


def children(folder: Path) -> list[int]:
    return [int(path.name.removeprefix("child-")) for path in folder.glob("child-*")]


def lives(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False
    return state.rpartition(")")[2].split()[0] != "Z"


def gone(processes: list[int]) -> bool:
    for _ in range(200):
        if not any(map(lives, processes)):
            return True
        time.sleep(0.01)
    return False


def test_every_rank_speaks(tmp_path: Path) -> None:
    done = run(tmp_path, SPEAKS, "-n", "3")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"[{rank}] I am {rank} of 3" for rank in range(3)]


def test_one_alone_has_no_prefix(tmp_path: Path) -> None:
    assert run(tmp_path, SPEAKS, "-n", "1").stdout == "I am 0 of 1\n"


def test_the_first_that_falls_ends_all_others_and_what_they_started(tmp_path: Path) -> None:
    done = run(tmp_path, FALLS, "-n", "3")
    assert done.returncode == 7
    assert done.stderr == "--- rank 1 fell first, with exit code 7 ---\n"
    assert len(children(tmp_path)) == 2
    assert gone(children(tmp_path))


def test_an_interrupt_ends_all(tmp_path: Path) -> None:
    with subprocess.Popen(
        command(tmp_path, SLEEPS, "-n", "2"), cwd=tmp_path, env=environment()
    ) as started:
        while len(children(tmp_path)) < 2:
            time.sleep(0.01)
            assert started.poll() is None
        started.send_signal(signal.SIGINT)
        assert started.wait() == 130
    assert gone(children(tmp_path))


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["--python", "/absent"], 1, "error: /absent: No such file or directory\n"),
        (["--processes", "65"], 2, "--processes"),
        (["--framework", "MPI"], 2, "--framework"),
    ],
)
def test_what_cannot_run(tmp_path: Path, args: list[str], code: int, words: str) -> None:
    done = run(tmp_path, SPEAKS, *args)
    assert done.returncode == code
    assert words in done.stderr


DEAF = """
import os, pathlib, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
pathlib.Path(f"child-{os.getpid()}").touch()
time.sleep(100)
"""
LEAVES = """
import os, pathlib, subprocess, sys, time
if os.environ["RANK"] == "0":
    child = subprocess.Popen(["sleep", "33"])
    pathlib.Path(f"child-{child.pid}").touch()
    sys.exit(3)
time.sleep(100)
"""
TALKS = """
import os, pathlib
pathlib.Path(f"child-{os.getpid()}").touch()
while True:
    print("a word", flush=True)
"""


@pytest.mark.parametrize(
    ("script", "told", "code"),
    [
        (SLEEPS, [signal.SIGTERM], 143),
        (SLEEPS, [signal.SIGHUP], 129),
        (DEAF, [signal.SIGINT, signal.SIGINT], 130),
    ],
    ids=["told to end", "the terminal is closed", "Ctrl-C twice, and deaf ranks"],
)
def test_no_process_outlives_a_signal(
    tmp_path: Path, script: str, told: list[signal.Signals], code: int
) -> None:
    with subprocess.Popen(
        command(tmp_path, script, "-n", "2"), cwd=tmp_path, env=environment()
    ) as started:
        while len(children(tmp_path)) < 2:
            time.sleep(0.01)
            assert started.poll() is None
        begun = time.monotonic()
        for number in told:
            time.sleep(1)  # two signals of a kind at once are one
            started.send_signal(number)
        try:
            assert started.wait(12) == code
            assert gone(children(tmp_path))
            assert time.monotonic() - begun < 8, "nobody waits for who was told twice"
        finally:
            end([started.pid, *children(tmp_path)])


def end(processes: list[int]) -> None:
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


async def test_who_was_started_is_ended_where_the_next_cannot_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start, started = asyncio.create_subprocess_exec, []

    async def spy(*command: str, **how: Any) -> asyncio.subprocess.Process:
        started.append(await start(*command, **how))
        return started[-1]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", spy)
    environments = [dict(os.environ), {"A": "\0"}]
    with pytest.raises(ValueError, match="null byte"):
        await local.ended(["sleep", "33"], environments, Look())
    assert [process.returncode for process in started] == [-signal.SIGTERM]


def test_a_rank_that_falls_is_seen_though_its_child_holds_the_pipe(tmp_path: Path) -> None:
    begun = time.monotonic()
    done = run(tmp_path, LEAVES, "-n", "2")
    assert done.returncode == 3
    assert time.monotonic() - begun < 15
    assert gone(children(tmp_path))


def test_a_group_whose_words_nobody_reads_ends(tmp_path: Path) -> None:
    with subprocess.Popen(
        command(tmp_path, TALKS, "-n", "2"),
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as started:
        assert started.stdout is not None
        assert started.stderr is not None
        assert b"a word" in started.stdout.readline()
        started.stdout.close()
        try:
            assert started.wait(12) == 1
            assert started.stderr.read() == b""
            assert gone(children(tmp_path))
        finally:
            end([started.pid, *children(tmp_path)])


def test_all_that_was_said_is_told(tmp_path: Path) -> None:
    done = run(
        tmp_path, "print('x' * 99 + '\\n', end='' ) or print(('y' * 99 + '\\n') * 20000 + 'z')"
    )
    assert done.stdout.count("y" * 99) == 40_000
    assert done.stdout.count("z\n") == 2
