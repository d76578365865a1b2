"""What was started here, and what became ours because its own parent ended.

A daemon that MPI's launcher starts leaves its parent at once: it is a child of the container's
first process then, which waits for it as for its own.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import threading
from typing import Mapping

_SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER: orphans come to us where we are not the first process."""
_SIGNALLED = 128


class Children:
    """All processes below this one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[int, tuple[subprocess.Popen[bytes], threading.Event]] = {}

    def start(self, command: str, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
        """Give a command to a shell in a session of its own.

        Raises:
            OSError: when there is no shell, or no room for another process.
        """
        with self._lock:  # nothing is reaped before it is known
            process = subprocess.Popen(
                ["/bin/sh", "-c", command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=env,
                start_new_session=True,
            )
            self._known[process.pid] = process, threading.Event()
        return process

    def wait(self, process: subprocess.Popen[bytes]) -> int:
        """The exit code of a process that was started here; somebody has to reap."""
        known = self._known.get(process.pid)
        if known is not None:
            known[1].wait()
        return int(process.returncode)

    def reap(self) -> bool:
        """Take in all that have ended; true when none is left."""
        while True:
            with self._lock:
                try:
                    pid, status = os.waitpid(-1, os.WNOHANG)
                except ChildProcessError:
                    return True
                if pid == 0:
                    return False
                known = self._known.pop(pid, None)
                if known is not None:
                    known[0].returncode = code(status)
                    known[1].set()


def code(status: int) -> int:
    """The exit code in a wait status, as a shell says it."""
    if os.WIFSIGNALED(status):
        return _SIGNALLED + os.WTERMSIG(status)
    return os.WEXITSTATUS(status)


def adopt() -> None:
    """Become the parent of orphans; where that cannot be, they have another."""
    try:
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    except (OSError, AttributeError):
        return
