"""A cluster that is there already, used only when asked for.

Nothing is ever started, stopped or loaded here: it is somebody's cluster.
"""

import dataclasses
import os
import pathlib
from collections.abc import Sequence

from localcluster import binaries, errors, progress


@dataclasses.dataclass(frozen=True, slots=True)
class Current:
    """The cluster of the user's own kubeconfig."""

    def up(self, nodes: int) -> pathlib.Path:
        """See that it answers."""
        del nodes
        path = self.kubeconfig()
        if path is None:
            raise errors.ClusterError(
                f"CLUSTER=current, but there is no kubeconfig at {_configured()}"
            )
        kubectl = binaries.ensure(["kubectl"]) / "kubectl"
        progress.quick([kubectl, "--kubeconfig", path, "get", "--raw", "/readyz"])
        return path

    def down(self, *, purge: bool) -> None:
        """Leave it alone."""
        del purge
        progress.say("CLUSTER=current: the cluster is not ours, so it stays as it is")

    def status(self) -> str:
        """Which kubeconfig is used."""
        return f"current: kubeconfig {self.kubeconfig() or 'missing'}"

    def kubeconfig(self) -> pathlib.Path | None:
        """The first file of KUBECONFIG, or the user's default one."""
        path = _configured()
        return path if path.is_file() else None

    def load(self, archives: Sequence[pathlib.Path]) -> None:
        """Say what to do instead."""
        names = " ".join(str(path) for path in archives)
        raise errors.ClusterError(
            f"CLUSTER=current: push the images of {names} to a registry that the cluster reaches, "
            "or import them on its nodes (ctr -n k8s.io images import TAR)"
        )


def _configured() -> pathlib.Path:
    first = os.environ.get("KUBECONFIG", "").split(os.pathsep)[0]
    return pathlib.Path(first) if first else pathlib.Path.home() / ".kube/config"
