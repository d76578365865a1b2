"""What a process has used, its children's work included."""

import os
import subprocess
import sys
import time

import pytest

from _trainingjob import _usage
from _trainingjob._wire import Meter

WORK = """
import time
end = time.process_time() + 0.5
while time.process_time() < end:
    pass
open("/dev/null", "wb").write(b"x" * 20_000_000)
print(flush=True)
input()
"""
CHILD = ("-c", WORK)
GRANDCHILD = ("-c", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {WORK!r}])")


@pytest.mark.parametrize("program", [CHILD, GRANDCHILD], ids=["child", "grandchild"])
def test_what_it_has_started_counts_while_it_runs_and_when_it_has_ended(
    program: tuple[str, ...],
) -> None:
    before = _usage.Used()
    with subprocess.Popen(
        [sys.executable, *program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        running = _usage.Used()
        child.communicate(b"\n")
    ended = _usage.Used()
    assert running.cpu >= before.cpu + 0.4
    assert ended.cpu >= running.cpu - 0.1
    assert running.io >= before.io + 20_000_000
    assert ended.io >= before.io + 20_000_000


def test_what_rests_uses_nothing() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE):
        before = Meter()
        time.sleep(0.3)
        assert Meter().since(before)["cpu"] < 0.5


def test_where_too_much_runs_the_own_process_counts_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_usage, "MOST", 1)
    used = _usage.Used()
    assert used.cpu > 0
    assert used.io > 0


SPINS = "print(flush=True)\nwhile True: pass"
REST = "import os; os.sched_setaffinity(0, {{{core}}}); "


def test_who_gets_no_core_is_not_idle() -> None:
    """Four of which each would have a whole core, on one: what they wait for counts."""
    core = min(os.sched_getaffinity(0))
    others = [spinning(core) for _ in range(3)]
    child = spinning(core)
    try:
        before = _usage.Used()
        deadline = time.monotonic() + 60
        while _usage.Used().starved(before) < 3:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        now = _usage.Used()
        waited = now.threads[child.pid][1] - before.threads[child.pid][1]
        assert waited > 0.1 * now.starved(before) * 1e9
    finally:
        for it in (*others, child):
            it.kill()
            it.communicate()


def spinning(core: int) -> subprocess.Popen[bytes]:
    program = REST.format(core=core) + SPINS
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    return child


def told(threads: dict[int, tuple[float, float, int]]) -> _usage.Used:
    """Threads that ran and waited so many seconds, in so many turns."""
    made = _usage.Used()
    made.threads = {
        number: (int(ran * 1e9), int(waited * 1e9), turns)
        for number, (ran, waited, turns) in threads.items()
    }
    return made


def test_of_a_thread_that_was_not_there_before_nothing_is_known() -> None:
    before, now = told({1: (9, 5, 100), 2: (1, 1, 100)}), told({2: (2, 3, 200), 3: (50, 50, 9)})
    assert now.starved(before) == 2
    assert now.starved(told({})) == 0
    assert told({}).starved(now) == 0


def test_who_only_looks_now_and_then_is_idle_on_a_crowded_core_as_well() -> None:
    """A watchdog waits each time that it wakes: that made a rank that hangs one that works."""
    looks = 10 * 10
    before = told({1: (0, 0, 0)})
    assert told({1: (looks * 0.0005, 9, looks)}).starved(before) == 0
    assert told({1: (1, 9, 300)}).starved(before) == 9
    assert told({1: (0.3, 9, 250)}).starved(before) == 9, "among many that wake all the time"


def test_a_kernel_that_does_not_tell_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_usage, "_read", lambda _: b"")
    assert set(_usage.Used().threads.values()) == {(0, 0, 0)}
    monkeypatch.setattr(_usage, "MOST", 0)
    assert _usage.Used().threads == {}
