"""One thing worth telling about a job, before it becomes an Event of the cluster."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """An event to be: the reason is stable and documented, the message is for people."""

    type: Literal["Normal", "Warning"]
    reason: str
    message: str
