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


@dataclass(slots=True)
class Ear:
    """Compares what lists show with what the watch has told.

    What a list shows and the watch has not told may still be on its way; when the same
    version is still untold at the next list, a minute later, the watch is deaf.
    """

    deaf: bool = False
    _told: dict[str, str] = field(default_factory=dict)
    _suspects: dict[str, str] = field(default_factory=dict)

    def hear(self, manifest: Mapping[str, Any]) -> None:
        """The watch has told of an object."""
        self._told[manifest["metadata"]["uid"]] = version_of(manifest)

    def forget(self, manifest: Mapping[str, Any]) -> None:
        """The watch has told that an object is gone."""
        self._told.pop(manifest["metadata"]["uid"], None)

    def compare(self, listed: Iterable[Mapping[str, Any]]) -> None:
        """A complete list was made."""
        versions = {item["metadata"]["uid"]: version_of(item) for item in listed}
        untold = {
            uid: version
            for uid, version in versions.items()
            if uid not in self._told or newer(version, self._told[uid])
        }
        self.deaf = any(self._suspects.get(uid) == version for uid, version in untold.items())
        self._suspects = untold
        self._told = {uid: told for uid, told in self._told.items() if uid in versions}


@dataclass(slots=True)
class Health:
    """Named checks, each of which says what is wrong, or nothing."""

    clock: Callable[[], float]
    checks: dict[str, Callable[[], str | None]] = field(default_factory=dict)
    ready: bool = False
    _unwell_since: float | None = None

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
