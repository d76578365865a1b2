"""A cluster of kind, where a Docker engine is at hand."""

import dataclasses
import os
import pathlib
import shutil
import subprocess
from collections.abc import Callable, Sequence
from typing import Final

import yaml

from localcluster import binaries, errors, gang, progress, versions

NAME: Final = "trainingjobs"
IMAGE: Final = "KIND_NODE_IMAGE"
"""Environment variable with a node image of the user's own, for an engine without a registry."""

PATIENCE: Final = yaml.safe_dump(
    {"kind": "InitConfiguration", "timeouts": {"kubernetesAPICall": "5m0s"}}
)
"""On a busy machine the first containers may take longer than the minute that kubeadm gives."""

OLD_CGROUPS: Final = yaml.safe_dump({"kind": "KubeletConfiguration", "failCgroupV1": False})
"""The kubelet refuses to start on cgroups of version 1 unless it is told that we know."""

Run = Callable[[Sequence[str | pathlib.Path], str | None], str]


def engine_answers() -> bool:
    """Whether a Docker engine can be reached."""
    if shutil.which("docker") is None:
        return False
    try:
        done = subprocess.run(["docker", "info"], capture_output=True, timeout=20, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def old_cgroups() -> bool:
    """Whether the containers of the Docker engine have cgroups of version 1."""
    if shutil.which("docker") is None:
        return False
    asked = ["docker", "info", "--format", "{{.CgroupVersion}}"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    return done.stdout.strip() == "1"


def config(nodes: int, *, gangs: bool = False, old: bool = False) -> str:
    """Kind's configuration of a cluster: one control plane, the other nodes workers."""
    roles = ["control-plane", *["worker"] * (nodes - 1)]
    document = {
        "kind": "Cluster",
        "apiVersion": "kind.x-k8s.io/v1alpha4",
        "nodes": [{"role": role} for role in roles],
        "kubeadmConfigPatches": [PATIENCE, *([OLD_CGROUPS] if old else [])],
        **gang.kind(wanted=gangs),
    }
    return yaml.safe_dump(document, sort_keys=False)


def state() -> pathlib.Path:
    """The folder of the kubeconfig: the user's own, since kind needs no root."""
    base = os.environ.get("XDG_STATE_HOME") or pathlib.Path.home() / ".local/state"
    return pathlib.Path(base) / "trainingjob-operator"


def call(argv: Sequence[str | pathlib.Path], text: str | None) -> str:
    """Run kind: the one on PATH, or one that is built."""
    program = shutil.which("kind") or binaries.ensure(["kind"]) / "kind"
    return progress.quick([program, *argv], text)


@dataclasses.dataclass(frozen=True, slots=True)
class Kind:
    """The cluster that kind runs in containers."""

    run: Run = call

    @property
    def file(self) -> pathlib.Path:
        """A kubeconfig of its own: the user's is left alone."""
        return state() / "kind.kubeconfig"

    def up(self, nodes: int) -> pathlib.Path:
        """Create the cluster unless it is there."""
        if self._exists():
            progress.say("the kind cluster is already up")
            self.run(["export", "kubeconfig", *self._named, "--kubeconfig", self.file], None)
            return self.file
        self.file.parent.mkdir(parents=True, exist_ok=True)
        progress.say(f"creating the kind cluster {NAME} with {nodes} node(s): about a minute")
        node = os.environ.get(IMAGE) or versions.KIND_NODE_IMAGE
        image = ["--image", node, "--wait", "180s", "--config", "-"]
        create = ["create", "cluster", *self._named, "--kubeconfig", str(self.file)]
        self.run([*create, *image], config(nodes, gangs=gang.asked(), old=old_cgroups()))
        return self.file

    def down(self, *, purge: bool) -> None:
        """Delete the cluster; its images go with it either way."""
        del purge
        if self._exists():
            self.run(["delete", "cluster", *self._named, "--kubeconfig", self.file], None)
        self.file.unlink(missing_ok=True)
        progress.say("the kind cluster is down")

    def status(self) -> str:
        """Whether it is there."""
        there = self._exists()
        return f"kind: cluster {NAME} up, kubeconfig {self.file}" if there else "kind: down"

    def kubeconfig(self) -> pathlib.Path | None:
        """Its kubeconfig, which is removed when the cluster is."""
        return self.file if self.file.exists() else None

    def load(self, archives: Sequence[pathlib.Path]) -> None:
        """Load image archives into every node."""
        for path in archives:
            if not path.is_file():
                raise errors.ClusterError(f"no such image archive: {path}")
            self.run(["load", "image-archive", path, *self._named], None)

    @property
    def _named(self) -> list[str]:
        return ["--name", NAME]

    def _exists(self) -> bool:
        return NAME in self.run(["get", "clusters"], None).split()
