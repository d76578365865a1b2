"""What a person who waits is told.

All of it goes to standard error: standard output carries only the answer (a
path, a folder, a table), so that a script can read it.
"""

import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from localcluster import errors

PULSE: Final = 20.0
"""Seconds between two signs of life of a long step."""


def say(line: str) -> None:
    """Tell one line of progress."""
    print(line, file=sys.stderr, flush=True)


def told(work: Callable[[], None]) -> int:
    """Do the work of a command; its exit code, with what went wrong told in one message."""
    try:
        work()
    except errors.ClusterError as problem:
        say(f"error: {problem}")
        return 1
    except KeyboardInterrupt:
        say("interrupted; the next call goes on from here")
        return 130
    return 0


def lasting(seconds: float) -> str:
    """A duration for a person: `8 s`, `3 min 5 s`."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def run(argv: Sequence[str], label: str, env: Mapping[str, str] | None = None) -> None:
    """Run a long command and say every few seconds that it still works."""
    began = time.monotonic()
    with tempfile.TemporaryFile("w+") as output:
        with subprocess.Popen(argv, stdout=output, stderr=subprocess.STDOUT, env=env) as child:
            while not _over(child):
                say(f"  {label}: {lasting(time.monotonic() - began)} so far")
        if child.returncode:
            output.seek(0)
            raise errors.ClusterError(f"{label} failed:\n{_tail(output.read())}")


def quick(argv: Sequence[str | pathlib.Path], text: str | None = None) -> str:
    """Run a short command and give back what it printed."""
    try:
        done = subprocess.run(argv, input=text, capture_output=True, text=True, check=False)
    except FileNotFoundError as missing:
        raise errors.ClusterError(f"`{argv[0]}` is not installed, or not on PATH") from missing
    if done.returncode:
        shown = " ".join(map(str, argv))
        raise errors.ClusterError(f"`{shown}` failed:\n{_tail(done.stderr or done.stdout)}")
    return done.stdout


def _over(child: subprocess.Popen[bytes]) -> bool:
    try:
        child.wait(PULSE)
    except subprocess.TimeoutExpired:
        return False
    return True


def _tail(text: str, lines: int = 15) -> str:
    return "\n".join(text.strip().splitlines()[-lines:])
