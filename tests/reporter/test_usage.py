"""What a process has used, its children's work included."""

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
    cpu, io = _usage.used()
    with subprocess.Popen(
        [sys.executable, *program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        running = _usage.used()
        child.communicate(b"\n")
    ended = _usage.used()
    assert running[0] >= cpu + 0.4
    assert ended[0] >= running[0] - 0.1
    assert running[1] >= io + 20_000_000
    assert ended[1] >= io + 20_000_000


def test_what_rests_uses_nothing() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE):
        before = Meter()
        time.sleep(0.3)
        assert Meter().since(before)["cpu"] < 0.5


def test_where_too_much_runs_the_own_process_counts_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_usage, "MOST", 1)
    cpu, io = _usage.used()
    assert cpu > 0
    assert io > 0
