"""The pod groups of the schedulers that place a group all or nothing: three APIs, one idea.

Each has objects called PodGroup, which say how many pods have to find room together.
"""

from dataclasses import dataclass
from enum import StrEnum

KIND = "PodGroup"
PLURAL = "podgroups"


class Gang(StrEnum):
    """Whose pod groups; the value is their apiVersion."""

    VOLCANO = "scheduling.volcano.sh/v1beta1"
    COSCHEDULING = "scheduling.x-k8s.io/v1alpha1"
    KUBERNETES = "scheduling.k8s.io/v1beta1"

    @property
    def group(self) -> str:
        """The API group, as RBAC names it."""
        return self.value.partition("/")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSeen:
    """One pod group that the job owns; one that is being deleted counts as gone."""

    gang: Gang
    name: str
    uid: str
    members: int
    """How many pods have to find room together."""
