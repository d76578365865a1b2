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


LOOKS = "import time\nprint(flush=True)\nwhile True: time.sleep(0.01)"
WAKES = "import time\nprint(flush=True)\nwhile True: time.sleep(0.002); sum(range(5000))"
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
        waited = now.threads[child.pid][0] - before.threads[child.pid][0]
        assert waited > 0.1 * now.starved(before) * 1e9
    finally:
        for it in (*others, child):
            it.kill()
            it.communicate()


def spinning(core: int, program: str = SPINS) -> subprocess.Popen[bytes]:
    program = REST.format(core=core) + program
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    return child


def test_who_only_looks_is_idle_among_many_that_wake_all_the_time() -> None:
    """A watchdog waits each time that it wakes: that made a rank that hangs one that works.

    And he who works has short turns among these: that made a long evaluation a stall.
    """
    core = min(os.sched_getaffinity(0))
    crowd = [spinning(core, WAKES) for _ in range(12)]
    works, looks = spinning(core), spinning(core, LOOKS)
    both = [works.pid, looks.pid]
    try:
        before = _usage.Used()
        deadline = time.monotonic() + 60
        while _alone(_usage.Used(), works.pid).starved(before) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        now = _usage.Used()
        waited = {it: (now.threads[it][0] - before.threads[it][0]) / 1e9 for it in both}
        starved = {it: _alone(now, it).starved(before) for it in both}
        assert starved[works.pid] > 0.9 * waited[works.pid]
        assert starved[looks.pid] < 0.2 * waited[looks.pid]
    finally:
        for it in (*crowd, works, looks):
            it.kill()
            it.communicate()


def _alone(used: _usage.Used, thread: int) -> _usage.Used:
    made = _usage.Used()
    made.threads = {thread: used.threads[thread]}
    return made


def told(threads: dict[int, tuple[float, int, int]]) -> _usage.Used:
    """Threads that waited so many seconds, got a core so often, and lost it so often."""
    made = _usage.Used()
    made.threads = {
        number: (int(waited * 1e9), turns, forced)
        for number, (waited, turns, forced) in threads.items()
    }
    return made


def test_of_a_thread_that_was_not_there_before_nothing_is_known() -> None:
    before, now = told({1: (9, 5, 5), 2: (1, 1, 1)}), told({2: (3, 6, 6), 3: (50, 9, 9)})
    assert now.starved(before) == 2
    assert now.starved(told({})) == 0
    assert told({}).starved(now) == 0


def test_waiting_counts_as_far_as_the_core_was_taken_away() -> None:
    before = told({1: (0, 0, 0)})
    assert told({1: (9, 100, 0)}).starved(before) == 0, "gave the core back each time"
    assert told({1: (9, 100, 100)}).starved(before) == 9, "never did"
    assert told({1: (9, 100, 50)}).starved(before) == 4.5
    assert told({1: (9, 0, 0)}).starved(before) == 0, "has not got one yet"
    assert told({1: (9, 100, 101)}).starved(before) == 9, "read a moment later"


def test_a_kernel_that_does_not_tell_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_usage, "_read", lambda _: b"")
    assert set(_usage.Used().threads.values()) == {(0, 0, 0)}
    monkeypatch.setattr(_usage, "MOST", 0)
    assert _usage.Used().threads == {}
