"""What is to be done, as data: it leaves no choice to the one who does it."""

from dataclasses import dataclass
from datetime import datetime

from trainingjobs.model.spec import Manifest
from trainingjobs.model.status import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class PodRef:
    """One pod, and no later one of its name."""

    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The next step of one job.

    It is carried out in this order: `check`, `create`, the status, `delete`, `delete_job`.
    A first refusal ends the creates. The status is written before anything is deleted, so
    that what was counted survives the one who counted it.
    """

    status: Status
    check: tuple[Manifest, ...] = ()
    """Pods to create as a dry run before anything else is made."""
    create: tuple[Manifest, ...] = ()
    """The service first, then pods by rank."""
    delete: tuple[PodRef, ...] = ()
    delete_job: bool = False
    wake_at: datetime | None = None
    """When to look again, if nothing happens before."""

    @property
    def acts(self) -> bool:
        """True when carrying it out changes the cluster beyond the status."""
        return bool(self.create or self.delete or self.delete_job)
