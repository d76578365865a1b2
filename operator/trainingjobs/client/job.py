"""A TrainingJob as clients see it: the manifest as it is, and what is asked of it most.

It is read leniently: a client may be older than the operator whose words it reads.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from trainingjobs.model.times import parse_time

Manifest = dict[str, Any]
SUCCEEDED = "Succeeded"
FAILED = "Failed"


@dataclass(frozen=True, slots=True)
class Job:
    """One job, at one moment."""

    manifest: Manifest

    @property
    def metadata(self) -> Manifest:
        """Who it is."""
        found: Manifest = self.manifest["metadata"]
        return found

    @property
    def spec(self) -> Manifest:
        """What the user asks for."""
        return self.manifest.get("spec") or {}

    @property
    def status(self) -> Manifest:
        """What the operator says of it; empty while no operator has seen it."""
        return self.manifest.get("status") or {}

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.metadata["name"])

    @property
    def namespace(self) -> str:
        """Its namespace."""
        return str(self.metadata.get("namespace") or "default")

    @property
    def uid(self) -> str:
        """What tells it from an earlier or later job of its name."""
        return str(self.metadata.get("uid") or "")

    @property
    def phase(self) -> str:
        """Pending, Running, … or an empty text while no operator has seen it."""
        return str(self.status.get("phase") or "")

    @property
    def message(self) -> str:
        """What it waits for, or how it ended, in one sentence."""
        return str(self.status.get("message") or "")

    @property
    def finished(self) -> bool:
        """True once it has succeeded or failed: nothing changes after that."""
        return self.phase in {SUCCEEDED, FAILED}

    @property
    def succeeded(self) -> bool:
        """True once it has succeeded."""
        return self.phase == SUCCEEDED

    @property
    def size(self) -> int:
        """Instances of its group."""
        return int(self.status.get("groupSize") or self.spec.get("PARALLEL_INSTANCES") or 0)

    @property
    def attempt(self) -> int:
        """The attempt that runs or ran last, from 1."""
        return max(int(self.status.get("attempt") or 0), 1)

    def time(self, field: str) -> datetime | None:
        """A time of its status."""
        return parse_time(self.status.get(field))

    @property
    def created(self) -> datetime | None:
        """When it was made."""
        return parse_time(self.metadata.get("creationTimestamp"))

    def condition(self, name: str) -> Manifest:
        """What is said under this name; empty where nothing is."""
        found = self.status.get("conditions") or []
        return next((item for item in found if item.get("type") == name), {})

    def holds(self, name: str) -> bool:
        """True when the condition is said to hold."""
        return self.condition(name).get("status") == "True"
