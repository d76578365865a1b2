"""What each user asked of the API server, from the server's own log."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

WRITES: Final = frozenset({"create", "update", "patch", "delete", "deletecollection"})


@dataclass(slots=True)
class Audit:
    """The log from where it was last forgotten."""

    log: Path
    counts: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """User, verb and resource."""
    _from: int = 0
    _part: bytes = b""

    def forget(self) -> None:
        """Count from now on."""
        self.read()
        self.counts.clear()

    def read(self) -> None:
        """Take in what has been written since."""
        if self.log.stat().st_size < self._from:
            raise RuntimeError(f"{self.log} was begun anew: what it said before is lost")
        with self.log.open("rb") as log:
            log.seek(self._from)
            new = log.read()
        self._from += len(new)
        *lines, self._part = (self._part + new).split(b"\n")
        for line in lines:
            self._count(line)

    def of(self, users: Iterable[str]) -> dict[str, int]:
        """Requests of these users by verb and resource, watches left out."""
        chosen = set(users)
        found: Counter[str] = Counter()
        for (user, verb, resource), count in self.counts.items():
            if user in chosen and verb != "watch":
                found[f"{verb} {resource}"] += count
        return dict(sorted(found.items()))

    def writes(self, users: Iterable[str]) -> int:
        """How many of them change something."""
        asked = self.of(users).items()
        return sum(count for what, count in asked if what.split()[0] in WRITES)

    def _count(self, line: bytes) -> None:
        if not line:
            return
        entry = json.loads(line)
        if entry["stage"] != "ResponseComplete":
            return
        target = entry.get("objectRef") or {}
        resource = "/".join(filter(None, (target.get("resource"), target.get("subresource"))))
        verb = f"dry-run-{entry['verb']}" if "dryRun" in entry["requestURI"] else entry["verb"]
        self.counts[entry["user"].get("username", ""), verb, resource or "-"] += 1
