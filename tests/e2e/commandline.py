"""The command line as a process of its own."""

import os
import sys
from pathlib import Path

from e2e.harness import Namespace


def tj(kubeconfig: Path, lab: Namespace, *args: str) -> list[str]:
    """What starts it for a namespace."""
    start = [sys.executable, "-m", "trainingjobs.cli", "--kubeconfig", str(kubeconfig)]
    return [*start, "--namespace", lab.name, *args]


def environment() -> dict[str, str]:
    """What it is started with, to be found without being installed."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
