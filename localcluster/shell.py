"""The two programs that a cluster is driven with, on the cluster that is up."""

import os
import pathlib
import subprocess
from collections.abc import Mapping

from localcluster import binaries, choose, errors

ROOT = pathlib.Path(__file__).parents[1]


def kubeconfig() -> pathlib.Path:
    """The kubeconfig of the cluster that is up.

    Raises:
        ClusterError: when none is.
    """
    path = choose.standing().cluster().kubeconfig()
    if path is None:
        raise errors.ClusterError("no local cluster is up; start it: make cluster")
    return path


def environment() -> Mapping[str, str]:
    """The environment in which kubectl and helm reach the cluster that is up."""
    folder = binaries.ensure(["kubectl", "helm"])
    path = f"{folder}{os.pathsep}{os.environ.get('PATH', '')}"
    return {**os.environ, "KUBECONFIG": str(kubeconfig()), "PATH": path}


def call(*argv: str) -> None:
    """Run a command whose output is for the user.

    Raises:
        ClusterError: when it fails; its own output has said why.
    """
    done = subprocess.run(argv, env=environment(), cwd=ROOT, check=False)
    if done.returncode:
        raise errors.ClusterError(f"`{' '.join(argv)}` failed; what it said is above")


def answer(*argv: str) -> str:
    """What a command prints, for us to read.

    Raises:
        ClusterError: when it fails, with what it said.
    """
    done = subprocess.run(
        argv, env=environment(), cwd=ROOT, check=False, capture_output=True, text=True
    )
    if done.returncode:
        raise errors.ClusterError(f"`{' '.join(argv)}` failed: {done.stderr.strip()}")
    return done.stdout.strip()
