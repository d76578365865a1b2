"""What is to be done, as data: it leaves no choice to the one who does it."""

from dataclasses import dataclass
from datetime import datetime

from trainingjobs.model.gang import GroupSeen
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

    It is carried out in this order: `check`, `change`, `offer`, `create`, `keep`, the status,
    `delete`, `delete_groups`, `delete_job`. A first refusal ends the creates. The status is written
    before anything is deleted, so that what was counted survives the one who counted it.
    """

    status: Status
    check: tuple[Manifest, ...] = ()
    """Pods to create as a dry run before anything else is made."""
    change: tuple[Manifest, ...] = ()
    """What is there and not as the job wants it: its name and uid, and what changes in its spec."""
    offer: tuple[Manifest, ...] = ()
    """What the job can do without: a refusal is told and ends nothing, but for a taken name."""
    create: tuple[Manifest, ...] = ()
    """The pod group, the service and what launches ranks first, then pods by rank."""
    keep: tuple[Manifest, ...] = ()
    """What would be lost with the pods that are deleted; a refusal is told and ends nothing."""
    delete: tuple[PodRef, ...] = ()
    delete_groups: tuple[GroupSeen, ...] = ()
    delete_job: bool = False
    wake_at: datetime | None = None
    """When to look again, if nothing happens before."""

    @property
    def makes(self) -> bool:
        """True when something is to be made or changed, which the API server may refuse."""
        return bool(self.create or self.change or self.offer)

    @property
    def acts(self) -> bool:
        """True when carrying it out changes the cluster beyond the status."""
        return self.makes or bool(self.delete or self.delete_groups or self.delete_job)
