"""Whether the operator still hears and moves, because one that does not must be restarted.

A process whose watch has died looks as well as any other: it answers its probes and does
nothing. So health is not that the process answers; it is that what the API server lists
was also told by the watch, and that the queue moves.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from trainingjobs.cluster.shelf import newer, version_of

LONGEST_WAIT = 60.0
GRACE_SECONDS = 120.0
"""For how long the operator may be unhealthy before it ends itself."""


_MISSED_ROUNDS = 3

_Id = tuple[str, str]


@dataclass(slots=True)
class Ear:
    """Compares what lists show with what the watch has told.

    What a list shows and the watch has not told may still be on its way; when the same
    version is still untold at the next list, a minute later, the watch is deaf.
    """

    _told: dict[_Id, str] = field(default_factory=dict)
    _suspects: dict[str | None, dict[_Id, str]] = field(default_factory=dict)
    _deaf: set[str | None] = field(default_factory=set)

    @property
    def deaf(self) -> bool:
        """True when some namespace's last two lists show what was never told."""
        return bool(self._deaf)

    def hear(self, manifest: Mapping[str, Any]) -> None:
        """The watch has told of an object."""
        self._told[_identity(manifest)] = version_of(manifest)

    def forget(self, manifest: Mapping[str, Any]) -> None:
        """The watch has told that an object is gone."""
        self._told.pop(_identity(manifest), None)

    def compare(self, listed: Iterable[Mapping[str, Any]], namespace: str | None = None) -> None:
        """A complete list was made, of one namespace or of all."""
        versions = {_identity(item): version_of(item) for item in listed}
        untold = {
            it: version
            for it, version in versions.items()
            if it not in self._told or newer(version, self._told[it])
        }
        before = self._suspects.get(namespace, {})
        self._suspects[namespace] = untold
        self._deaf.discard(namespace)
        if any(before.get(it) == version for it, version in untold.items()):
            self._deaf.add(namespace)
        self._told = {
            it: told
            for it, told in self._told.items()
            if it in versions or namespace not in {None, it[0]}
        }


def _identity(manifest: Mapping[str, Any]) -> _Id:
    return manifest["metadata"]["namespace"], manifest["metadata"]["uid"]


@dataclass(slots=True)
class Rounds:
    """What is to be done again and again, and when it was last done completely."""

    clock: Callable[[], float]
    _periods: dict[str, float] = field(default_factory=dict)
    _done: dict[str, float] = field(default_factory=dict)

    def expect(self, name: str, period: float) -> None:
        """This was done, and has to be done about every so many seconds from now on."""
        self._periods[name] = period
        self.done(name)

    def done(self, name: str) -> None:
        """It was done."""
        self._done[name] = self.clock()

    def missed(self) -> str | None:
        """What has not been done for several of its periods."""
        for name, period in self._periods.items():
            ago = self.clock() - self._done[name]
            if ago > _MISSED_ROUNDS * period:
                return f"{name}: the last complete one was {ago:.0f} s ago"
        return None


@dataclass(slots=True)
class Progress:
    """When a look at a job last came to its end or to an answer.

    Jobs may wait for long while all workers make large groups: that is a backlog, and no
    restart makes it shorter.
    """

    clock: Callable[[], float]
    _last: float | None = None

    def begin(self) -> None:
        """From now on, looks are to come to an end."""
        self._last = self.clock()

    def end(self) -> None:
        """From now on, nobody looks."""
        self._last = None

    def made(self) -> None:
        """A look has moved."""
        if self._last is not None:
            self._last = self.clock()

    def answered(self, verb: str) -> None:
        """The API server has answered; lists are made by others than those who look at a job."""
        if verb != "list":
            self.made()

    def stuck(self, longest_wait: float) -> str | None:
        """What to complain about when a job has waited for so long."""
        idle = 0.0 if self._last is None else self.clock() - self._last
        if min(longest_wait, idle) <= LONGEST_WAIT:
            return None
        return f"a job has been waiting for {longest_wait:.0f} s, and nothing moves"


@dataclass(slots=True)
class Health:
    """Named checks, each of which says what is wrong, or nothing."""

    clock: Callable[[], float]
    checks: dict[str, Callable[[], str | None]] = field(default_factory=dict)
    ready: bool = False
    """True once all jobs were listed."""
    stands: Callable[[], bool] = lambda: True
    """True once this process may come to lead: a rollout stops at one that never will."""
    rounds: Rounds = field(init=False)
    progress: Progress = field(init=False)
    _unwell_since: float | None = None

    def __post_init__(self) -> None:
        self.rounds = Rounds(self.clock)
        self.progress = Progress(self.clock)

    def complaints(self) -> list[str]:
        """What is wrong now."""
        said = ((name, check()) for name, check in self.checks.items())
        found = [f"{name}: {words}" for name, words in said if words]
        self._unwell_since = (self._unwell_since or self.clock()) if found else None
        return found

    def hopeless(self) -> list[str]:
        """What has been wrong for so long that only a restart will mend it."""
        found = self.complaints()
        since = self._unwell_since
        return found if since is not None and self.clock() - since >= GRACE_SECONDS else []
