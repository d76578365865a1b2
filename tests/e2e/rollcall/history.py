"""All that jobs say of themselves, from their start on, with the moment when it could be read.

An alarm may come and go between two looks. So a watch keeps every status that it sees, and a test
asks later when something was first said, or whether it never was.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from e2e.harness import LIMIT, Manifest, Namespace, Objects

LONG = 3600.0


@dataclass(frozen=True, slots=True)
class Said:
    """What a job said of itself, and when that could first be read."""

    at: float
    status: Manifest


@dataclass(slots=True)
class History:
    """The statuses of all jobs of a namespace, in order."""

    lab: Namespace
    _all: dict[str, list[Said]] = field(default_factory=dict)
    _news: threading.Condition = field(default_factory=threading.Condition)
    _over: bool = False
    _thread: threading.Thread | None = None

    def begin(self) -> None:
        """Watch the jobs, until the end."""
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def end(self, change: Callable[[], object] = lambda: None) -> None:
        """Watch no more, with the next change of a job: this one, or one that comes anyway."""
        self._over = True
        change()
        if self._thread is not None:
            self._thread.join(LIMIT)

    def of(self, job: str) -> list[Said]:
        """Everything that a job has said."""
        with self._news:
            return list(self._all.get(job, []))

    def first(self, job: str, fits: Callable[[Manifest], bool], *, seconds: float = LIMIT) -> Said:
        """The first status of a job that fits, past or to come; an AssertionError without one."""
        deadline = time.monotonic() + seconds
        with self._news:
            while (found := self._found(job, fits)) is None:
                if not self._news.wait(deadline - time.monotonic()):
                    last = self._all.get(job, [Said(0, {})])[-1].status
                    raise AssertionError(f"{job} never said so in {seconds:.0f} s: {last}")
        return found

    def _found(self, job: str, fits: Callable[[Manifest], bool]) -> Said | None:
        return next((said for said in self._all.get(job, []) if fits(said.status)), None)

    def _follow(self) -> None:
        self.lab.wait("trainingjobs", self._take, seconds=LONG)

    def _take(self, jobs: Objects) -> bool:
        now = time.time()
        with self._news:
            for name, job in jobs.items():
                said, status = self._all.setdefault(name, []), job.get("status", {})
                if not said or said[-1].status != status:
                    said.append(Said(now, status))
            self._news.notify_all()
        return self._over


def condition(status: Manifest, name: str) -> Manifest:
    """One of the conditions; empty where it is not there."""
    return next((item for item in status.get("conditions", []) if item["type"] == name), {})


def holds(name: str, truth: str = "True") -> Callable[[Manifest], bool]:
    """Whether a condition has this value."""
    return lambda status: condition(status, name).get("status") == truth


def found(status: Manifest, kind: str) -> Manifest:
    """The finding of a kind; empty where there is none."""
    return next((item for item in status.get("findings", []) if item["type"] == kind), {})


def finds(kind: str) -> Callable[[Manifest], bool]:
    """Whether there is a finding of a kind."""
    return lambda status: bool(found(status, kind))


def alarms(status: Manifest) -> list[Manifest]:
    """What is said to be wrong; that a rank is missed while its group still starts is no alarm.

    On a busy machine the pods of a group start further apart than the operator waits for a word.
    """
    starts = status.get("phase") in {"Pending", "Starting"}
    return [
        item
        for item in status.get("findings", [])
        if not (starts and item["type"] == "RanksMissing")
    ]
