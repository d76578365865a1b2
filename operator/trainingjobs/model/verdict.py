"""What a job's next step is and why: the one value that the plan and the status share."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from trainingjobs.model.status import Failure


class Step(StrEnum):
    """Where a job goes from here."""

    RUN = "Run"
    """Make what is missing and let the group train."""
    WAIT = "Wait"
    """Nothing may be made yet: pods of an earlier attempt leave, or a back-off runs."""
    RESTART = "Restart"
    """The attempt is over; the next one follows."""
    SUSPEND = "Suspend"
    SUCCEED = "Succeed"
    FAIL = "Fail"


class Charge(StrEnum):
    """Which counter a restart moves."""

    RESTARTS = "restarts"
    DISRUPTIONS = "disruptions"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One step with its reason, and what it costs."""

    step: Step
    reason: str = ""
    message: str = ""
    failure: Failure | None = None
    charge: Charge = Charge.NOTHING
    until: datetime | None = None
    """When a wait ends by itself."""
    size: int | None = None
    """Instances of the next attempt, where they are not what the spec asks for."""
    done: frozenset[int] = frozenset()
    """Ranks that have succeeded in the attempt that ran until now."""
