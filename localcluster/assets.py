"""An API server without nodes, for integration tests.

Tests that need only the API take kube-apiserver and etcd from one folder, as the
environment variable KUBEBUILDER_ASSETS names it by convention.
"""

import os
import pathlib
from typing import Final

from localcluster import binaries, errors, gomodules

VARIABLE: Final = "KUBEBUILDER_ASSETS"
SERVERS: Final = ("etcd", "kube-apiserver")


def folder(minor: str = "") -> pathlib.Path:
    """The folder with the servers and kubectl: the user's own, or one that is built.

    Who names a minor of Kubernetes gets that one, whatever else is set.
    """
    if not minor and (own := os.environ.get(VARIABLE)):
        return checked(pathlib.Path(own))
    return binaries.ensure([*SERVERS, "kubectl"], gomodules.programs(minor))


def checked(path: pathlib.Path) -> pathlib.Path:
    """The folder that the user named, if the servers are in it."""
    if lacking := [name for name in SERVERS if not (path / name).is_file()]:
        raise errors.ClusterError(
            f"{VARIABLE}={path} has no {' and no '.join(lacking)}; "
            f"unset {VARIABLE} to have them built, or name a folder that has both"
        )
    return path
