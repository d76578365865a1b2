"""Which kind of cluster it shall be.

The rule is short, and its reason is always told: what CLUSTER says; else kind, if
a Docker engine answers and kind is installed; else plain processes. The user's
own cluster is never taken unasked.
"""

import dataclasses
import os
import shutil
from collections.abc import Callable, Mapping
from typing import Final

from localcluster import cluster, current, embedded, errors, kind

KINDS: Final[Mapping[str, Callable[[], cluster.Cluster]]] = {
    "embedded": embedded.Embedded,
    "kind": kind.Kind,
    "current": current.Current,
}
MOST_NODES: Final = 2


@dataclasses.dataclass(frozen=True, slots=True)
class Choice:
    """A kind of cluster, and why."""

    kind: str
    reason: str

    def cluster(self) -> cluster.Cluster:
        """The chosen cluster."""
        return KINDS[self.kind]()


def choose(asked: str, *, engine: bool, program: bool) -> Choice:
    """The kind of cluster for a machine with or without a Docker engine and kind."""
    if asked:
        if asked not in KINDS:
            raise errors.ClusterError(f"CLUSTER={asked} is unknown; use one of {', '.join(KINDS)}")
        return Choice(asked, f"CLUSTER={asked} asks for it")
    if engine and program:
        return Choice("kind", "a Docker engine answers and kind is installed")
    lacking = "kind is not installed" if engine else "no Docker engine answers"
    return Choice("embedded", lacking)


def wanted() -> Choice:
    """The kind of cluster to bring up on this machine."""
    asked = os.environ.get("CLUSTER", "")
    program = not asked and shutil.which("kind") is not None
    return choose(asked, engine=not asked and kind.engine_answers(), program=program)


def standing() -> Choice:
    """The cluster that is up, or else the one that `up` would bring."""
    if os.environ.get("CLUSTER"):
        return wanted()
    for name in ("embedded", "kind"):
        if KINDS[name]().kubeconfig() is not None:
            return Choice(name, "it is up")
    return wanted()


def nodes(text: str) -> int:
    """How many nodes NODES asks for."""
    if text not in {"1", "2"}:
        raise errors.ClusterError(f"NODES={text}: the local cluster has 1 or {MOST_NODES} nodes")
    return int(text)
