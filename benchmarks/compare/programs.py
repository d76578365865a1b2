"""The peers and kwok: built from their Go modules, with what they are deployed with.

Their resource definitions and webhook configurations come from the same module as the program,
so what is measured is what a user of that version installs.
"""

import subprocess
from pathlib import Path
from typing import Any, Final

import yaml

from localcluster import binaries, toolchain
from localcluster.gomodules import GoModule

Json = dict[str, Any]

HOME: Final = Path(__file__).parents[1] / "go"
JOBSET: Final = GoModule(
    name="jobset", programs={"jobset": "sigs.k8s.io/jobset"}, minutes=4, home=HOME
)
TRAINING_OPERATOR: Final = GoModule(
    name="training-operator",
    programs={
        "training-operator": "github.com/kubeflow/training-operator/cmd/training-operator.v1"
    },
    minutes=4,
    home=HOME,
)
KWOK: Final = GoModule(
    name="kwok", programs={"kwok": "sigs.k8s.io/kwok/cmd/kwok"}, minutes=4, home=HOME
)
SOURCES: Final = {
    "jobset": "sigs.k8s.io/jobset",
    "training-operator": "github.com/kubeflow/training-operator",
    "kwok": "sigs.k8s.io/kwok",
}


def program(module: GoModule) -> Path:
    """The one program of a module."""
    return binaries.one(module, module.name)


def source(module: GoModule) -> Path:
    """The module's own files, as the module proxy has them."""
    return toolchain.source(module.folder, SOURCES[module.name])


def version(module: GoModule) -> str:
    """Which version is pinned."""
    return source(module).name.rpartition("@")[2]


def manifests(kubectl: Path, folder: Path) -> list[Json]:
    """What a kustomization makes."""
    command = [str(kubectl), "kustomize", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [it for it in yaml.safe_load_all(done.stdout) if it]
