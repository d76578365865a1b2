"""Which program comes from which Go module, and how it is built.

Each folder below `go/` is a module of its own that pins one upstream project
with its hashes, so a build takes what was reviewed and nothing newer.
"""

import dataclasses
import hashlib
import pathlib
from collections.abc import Mapping
from typing import Final

from localcluster import errors, versions

HERE: Final = pathlib.Path(__file__).parent / "go"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GoModule:
    """One upstream project: its programs, and the flags they need."""

    name: str
    programs: Mapping[str, str]
    stamps: Mapping[str, str] = dataclasses.field(default_factory=dict)
    tags: str = ""
    static: bool = False
    minutes: float = 1.0
    home: pathlib.Path = HERE

    @property
    def folder(self) -> pathlib.Path:
        """The folder with the go.mod and go.sum."""
        return self.home / self.name

    def arguments(self, program: str, target: pathlib.Path) -> list[str]:
        """What `go` is called with to build one program."""
        return [
            "build",
            "-C",
            str(self.folder),
            *self.flags,
            "-o",
            str(target),
            self.programs[program],
        ]

    @property
    def flags(self) -> list[str]:
        """The build flags: no paths of this machine, no debug tables, the right version."""
        stamps = " ".join(f"-X {name}={value}" for name, value in self.stamps.items())
        tags = ["-tags", self.tags] if self.tags else []
        return ["-mod=readonly", "-trimpath", *tags, "-ldflags", f"-s -w {stamps}".strip()]

    @property
    def key(self) -> str:
        """Changes with every source, version or flag that could change a program."""
        digest = hashlib.sha256(repr((self.flags, self.static)).encode())
        for path in sorted(self.folder.iterdir()):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
        return digest.hexdigest()[:12]


def _kubernetes_stamps(version: str) -> dict[str, str]:
    major, minor, _ = version.split(".")
    values = {
        "gitVersion": f"v{version}",
        "gitMajor": major,
        "gitMinor": minor,
        "gitTreeState": "clean",
    }
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    return {f"{package}.{name}": value for package in packages for name, value in values.items()}


def _older_server(version: str) -> GoModule:
    return GoModule(
        name=f"kubernetes-{_minor(version)}",
        programs=_commands("k8s.io/kubernetes/cmd", "kube-apiserver"),
        stamps=_kubernetes_stamps(version),
        minutes=8.0,
    )


def _minor(version: str) -> str:
    return version.rpartition(".")[0]


def _commands(prefix: str, *names: str) -> dict[str, str]:
    return {name: f"{prefix}/{name}" for name in names}


CONTAINERD: Final = "github.com/containerd/containerd/v2"

MODULES: Final = (
    GoModule(name="pause", programs={"pause": "."}, static=True, minutes=0.1),
    GoModule(name="etcd", programs={"etcd": "go.etcd.io/etcd/server/v3"}),
    GoModule(
        name="kubernetes",
        programs=_commands(
            "k8s.io/kubernetes/cmd",
            "kube-apiserver",
            "kubectl",
            "kube-controller-manager",
            "kube-scheduler",
            "kubelet",
            "kube-proxy",
        ),
        stamps=_kubernetes_stamps(versions.KUBERNETES),
        minutes=15.0,
    ),
    GoModule(
        name="containerd",
        programs=_commands(f"{CONTAINERD}/cmd", "containerd", "containerd-shim-runc-v2", "ctr"),
        stamps={f"{CONTAINERD}/version.Version": versions.CONTAINERD},
        tags="no_btrfs,no_zfs,no_devmapper",
        minutes=2.0,
    ),
    GoModule(name="coredns", programs={"coredns": "."}, minutes=1.5),
    GoModule(
        name="helm",
        programs={"helm": "helm.sh/helm/v4/cmd/helm"},
        stamps={"helm.sh/helm/v4/internal/version.version": f"v{versions.HELM}"},
        minutes=2.0,
    ),
    GoModule(name="kind", programs={"kind": "sigs.k8s.io/kind"}, static=True),
)

PROGRAMS: Final = {program: module for module in MODULES for program in module.programs}

OLDER: Final = {_minor(version): _older_server(version) for version in versions.OLDER}
"""API servers of other minors: for tests alone, so the cluster's programs are without them."""

KUBE_SCORE: Final = GoModule(
    name="kube-score",
    programs={"kube-score": "github.com/zegl/kube-score/cmd/kube-score"},
    stamps={"main.version": versions.KUBE_SCORE},
)
"""Looks over the chart (`make security`): no program of the cluster's either."""


def programs(minor: str = "") -> Mapping[str, GoModule]:
    """Every program with its module; of another minor the API server alone, beside the rest."""
    if not minor or minor == _minor(versions.KUBERNETES):
        return PROGRAMS
    if minor not in OLDER:
        known = ", ".join([_minor(versions.KUBERNETES), *OLDER])
        raise errors.ClusterError(f"no API server of Kubernetes {minor}; known are {known}")
    return {**PROGRAMS, **dict.fromkeys(OLDER[minor].programs, OLDER[minor])}
