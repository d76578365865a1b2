"""What the operator may do in a cluster: no more than it does.

The chart's roles and a test are compared with this list, so that a new call without its
permission, and a permission without its call, are both found before a user finds them.
"""

from dataclasses import dataclass

from trainingjobs.model import gang, labels


@dataclass(frozen=True, slots=True)
class Rule:
    """Verbs on one resource of one API group."""

    group: str
    resource: str
    verbs: tuple[str, ...]


_POD_GROUPS = tuple(
    # rules for an API group that a cluster does not have do nothing there
    Rule(of.group, gang.PLURAL, ("get", "list", "create", "patch", "delete"))
    for of in gang.Gang
)

RULES: tuple[Rule, ...] = (
    # jobs are deleted when their ttlSecondsAfterFinished is over
    Rule(labels.GROUP, labels.PLURAL, ("get", "list", "watch", "delete")),
    Rule(labels.GROUP, f"{labels.PLURAL}/status", ("patch",)),
    # where OwnerReferencesPermissionEnforcement is on, blockOwnerDeletion asks for this
    Rule(labels.GROUP, f"{labels.PLURAL}/finalizers", ("update",)),
    Rule("", "pods", ("get", "list", "watch", "create", "delete")),
    Rule("", "services", ("get", "list", "watch", "create", "patch")),
    # what pods report with, and the stacks of a group that stalled: never read but by its name
    Rule("", "configmaps", ("get", "create")),
    # the key of an MPI or Horovod job: made, and never read, not even our own
    Rule("", "secrets", ("create",)),
    Rule("", "events", ("create", "patch")),
    *_POD_GROUPS,
)

REVIEWS: tuple[Rule, ...] = (
    Rule("authentication.k8s.io", "tokenreviews", ("create",)),
    Rule("authorization.k8s.io", "subjectaccessreviews", ("create",)),
)
"""What the roll call's service needs besides: in the whole cluster, as neither has a namespace."""
READING: tuple[Rule, ...] = (
    Rule("", "pods/log", ("get",)),
    Rule("", "events", ("list",)),
)
"""What the page needs besides, to show logs and events to whoever may read them."""
LEADING: tuple[Rule, ...] = (
    Rule("coordination.k8s.io", "leases", ("get", "create", "update")),
    Rule("", "pods", ("patch",)),
)
"""What replicas need besides, where they run: the Lease, and the label of their own pods."""
FOR_OTHERS = frozenset(rule.resource for rule in (*REVIEWS, *READING) if rule.resource != "events")
"""What is asked because somebody asks us: it proves nothing of our own work."""
