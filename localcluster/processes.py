"""Processes that are started, watched and ended, and never mistaken for others.

A process id alone says nothing: it may have gone to another program since. So a
record keeps when its process started, in the kernel's own count, and nothing is
signalled unless both still agree.
"""

import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from localcluster import errors, packages, places

START_FIELD: Final = 19
"""Place of the start time in /proc/PID/stat, counted after the command's name."""


@dataclasses.dataclass(frozen=True, slots=True)
class Record:
    """One process that we started: its name, id, and start time in clock ticks."""

    name: str
    pid: int
    started: int


@dataclasses.dataclass(frozen=True, slots=True)
class Starter:
    """Starts processes that outlive this program, with a log and a record each."""

    at: places.Places
    programs: pathlib.Path

    def start(self, name: str, argv: Sequence[str]) -> Record:
        """Start one process in a session of its own."""
        env = {
            **proxies(os.environ),
            "PATH": f"{self.programs}:{os.environ.get('PATH', '')}:{packages.SYSTEM_PATH}",
            "HOME": str(self.at.state),
            places.MARK: str(self.at.state),
        }
        with (self.at.logs / f"{name}.log").open("ab") as log:
            child = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.at.state,
                env=env,
                start_new_session=True,
            )
        record = Record(name, child.pid, started(child.pid) or 0)
        child.returncode = 0  # it outlives us: nobody waits for it here
        write(self.at.records, record)
        return record


def proxies(env: Mapping[str, str]) -> dict[str, str]:
    """The proxy settings of an environment, with the cluster's own networks left out of them."""
    kept = {key: value for key, value in env.items() if key.lower().endswith("_proxy")}
    own = ["127.0.0.1", "localhost", places.PODS, places.SERVICES, places.LINK]
    before = kept.get("NO_PROXY") or kept.get("no_proxy")
    both = ",".join([*([before] if before else []), *own])
    return {**kept, "NO_PROXY": both, "no_proxy": both} if kept else {}


def started(pid: int) -> int | None:
    """When a process started, in clock ticks since boot; None when there is none."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return start_ticks(stat)


def start_ticks(stat: str) -> int | None:
    """The start time in the text of /proc/PID/stat; None for a zombie, which is over."""
    state, *fields = stat.rpartition(")")[2].split()
    return None if state in {"Z", "X"} else int(fields[START_FIELD - 1])


def alive(record: Record) -> bool:
    """Whether that very process still runs."""
    return started(record.pid) == record.started


def write(folder: pathlib.Path, record: Record) -> None:
    """Keep a record for later calls of this program."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{record.name}.json").write_text(json.dumps(dataclasses.asdict(record)))


def read(folder: pathlib.Path) -> list[Record]:
    """All records, in the order of their starts."""
    found = (_parse(path) for path in folder.glob("*.json"))
    return sorted((record for record in found if record), key=lambda record: record.started)


def _parse(path: pathlib.Path) -> Record | None:
    try:
        return Record(**json.loads(path.read_text()))
    except (ValueError, TypeError, FileNotFoundError):
        return None


def stop(records: Iterable[Record], patience: float) -> None:
    """Ask processes to end, wait for them, and end those that do not."""
    ours = [record for record in records if alive(record)]
    for record in ours:
        _signal(record, signal.SIGTERM)
    if until(lambda: not any(map(alive, ours)), patience):
        return
    for record in ours:
        _signal(record, signal.SIGKILL)
    until(lambda: not any(map(alive, ours)), patience)


def _signal(record: Record, number: signal.Signals) -> None:
    if alive(record):
        os.kill(record.pid, number)


def until(holds: Callable[[], bool], patience: float, pause: float = 0.1) -> bool:
    """Wait until something holds; False when it does not within the patience."""
    deadline = time.monotonic() + patience
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
    return True


def wait(
    records: Sequence[Record], at: places.Places, holds: Callable[[], bool], patience: float = 90
) -> None:
    """Wait until started processes answer; name the one that does not, with its log."""
    if until(lambda: holds() or bool(_ended(records)), patience) and not _ended(records):
        return
    record = next(iter(_ended(records)), records[-1])
    log = at.logs / f"{record.name}.log"
    last = "\n".join(log.read_text(errors="replace").splitlines()[-12:])
    what = f"does not answer after {patience:.0f} s" if alive(record) else "ended at once"
    raise errors.ClusterError(f"{record.name} {what}; the end of {log}:\n{last}")


def _ended(records: Sequence[Record]) -> list[Record]:
    return [record for record in records if not alive(record)]
