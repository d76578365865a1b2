"""The master's part: wait until every worker answers, run the user's launcher, and say goodbye.

Its exit code is the launcher's. When a worker does not answer for long, it ends with a code and a
sentence of its own: no program has failed then, and the operator charges nothing for it.
"""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import Callable, Mapping, Sequence

from _trainingjob_launch import children, group, ranks, wire
from _trainingjob_launch.group import Group

UNREACHABLE = 75
"""EX_TEMPFAIL of sysexits.h: try again later."""
LAST_WORDS = "/dev/termination-log"
SECONDS = "TRAININGJOB_LAUNCH_SECONDS"
_PATIENCE = 600.0
_TELL_SECONDS = 10.0
_PAUSE = 0.5
_LEAVE_SECONDS = 10.0
_AT_ONCE = 32
_NAMED = 5
_NOT_FOUND = 127
_FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


def main(own: Group, arguments: list[str]) -> int:
    """Launch once everybody is there."""
    children.adopt()
    launcher = Launcher()
    group.write(own)
    missing = gather(own, patience(os.environ))
    if missing:
        return _give_up(own, missing)
    result = launcher.run(arguments[arguments.index("--") + 1 :], group.environment(own))
    if result == 0 and not launcher.told_to_stop:
        _say_goodbye(own)
    return result


def patience(environ: Mapping[str, str]) -> float:
    """How long workers may take to answer."""
    try:
        return max(float(environ.get(SECONDS, _PATIENCE)), 0.0)
    except ValueError:
        _log(f"{SECONDS} is no number: waiting {_PATIENCE:g} s")
        return _PATIENCE


def gather(own: Group, seconds: float) -> dict[str, str]:
    """Wait until all workers answer; those that did not in time, and why."""
    due, roll = time.monotonic() + seconds, Roll(own)
    left = own.workers
    while True:
        asked(own, left, wire.HELLO, due, roll.hear)
        left = list(roll.missing)
        if not left or time.monotonic() >= due:
            return roll.missing
        time.sleep(_PAUSE)


class Roll:
    """Who is missing, and says so from time to time: a round may take minutes."""

    def __init__(self, own: Group) -> None:
        self.missing: dict[str, str] = {}
        self._own = own
        self._tell = time.monotonic() + 1

    def hear(self, host: str, why: str) -> None:
        """What came of asking a host."""
        if why:
            self.missing[host] = why
        else:
            self.missing.pop(host, None)
        if self.missing and time.monotonic() >= self._tell:
            self._tell = time.monotonic() + _TELL_SECONDS
            _log(f"waits for {sentence(self._own, self.missing)}")


def asked(
    own: Group,
    hosts: Sequence[str],
    purpose: str,
    due: float = math.inf,
    hear: Callable[[str, str], None] = lambda *_: None,
) -> dict[str, str]:
    """Those of these hosts that did not answer, and why.

    Args:
        own: the group.
        hosts: whom to ask; the first ones always are.
        purpose: what to ask for.
        due: when to ask no others.
        hear: is told what came of each.
    """

    def answer(place: int, host: str) -> str:
        late = place >= _AT_ONCE and time.monotonic() >= due
        return "there was no time to ask" if late else _answer(own, host, purpose)

    missing = {}
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for host, why in zip(hosts, pool.map(answer, range(len(hosts)), hosts)):
            hear(host, why)
            if why:
                missing[host] = why
    return missing


def _answer(own: Group, host: str, purpose: str) -> str:
    try:
        wire.ask(own, host, purpose)
    except wire.WireError as error:
        return str(error)
    return ""


def sentence(own: Group, missing: Mapping[str, str]) -> str:
    """Who is missing, and why; the first of them by name."""
    named = [f"{host.partition('.')[0]} ({why})" for host, why in list(missing.items())[:_NAMED]]
    more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
    return f"{len(missing)} of {own.size - 1} workers: {', '.join(named)}{more}"


def _give_up(own: Group, missing: Mapping[str, str]) -> int:
    words = (
        f"launch: could not reach {sentence(own, missing)}; a NetworkPolicy has to let pods of "
        f"this job reach each other on port {own.port} and on those that MPI chooses"
    )
    print(words, file=sys.stderr, flush=True)
    try:
        with open(LAST_WORDS, "w", encoding="utf-8") as file:
            file.write(words)
    except OSError:
        return UNREACHABLE  # the kubelet takes the last lines of the log instead
    return UNREACHABLE


def _say_goodbye(own: Group) -> None:
    """Let all workers end well; one that does not hear it is cleaned up as the job says."""
    due, missing = time.monotonic() + _LEAVE_SECONDS, own.workers
    while missing and time.monotonic() < due:
        missing = list(asked(own, missing, wire.LEAVE))
        if missing:
            time.sleep(_PAUSE)


class Launcher:
    """The user's command, which gets the signals that this process is told.

    The ranks get the first request to stop, and the command what comes after it.
    """

    def __init__(self) -> None:
        self.told_to_stop = False
        self._process: subprocess.Popen[bytes] | None = None
        for number in _FORWARDED:
            signal.signal(number, self._forward)

    def run(self, command: list[str], env: Mapping[str, str]) -> int:
        """Run the command to its end, and take in what it leaves behind."""
        try:
            self._process = subprocess.Popen(command, env=env)
        except OSError as error:
            _log(f"cannot start {command[0]}: {error.strerror}")
            return _NOT_FOUND
        while True:
            pid, status = os.waitpid(-1, 0)
            if pid == self._process.pid:
                self._process.returncode = children.code(status)
                return self._process.returncode

    def _forward(self, number: int, _frame: FrameType | None) -> None:
        if self._process is None:
            os._exit(128 + number)  # threads may hang in a name's resolution
        if number == signal.SIGTERM and not self.told_to_stop:
            self.told_to_stop = True
            if ranks.tell(number):
                return
        tell(self._process, number)


def tell(process: subprocess.Popen[bytes], number: int) -> None:
    """Send a signal; Popen's own way takes in the end that somebody else waits for."""
    if process.returncode is None:
        try:
            os.kill(process.pid, number)
        except ProcessLookupError:
            return


def _log(words: str) -> None:
    print(f"launch: {words}", file=sys.stderr, flush=True)
