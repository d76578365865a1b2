"""The Debian of a node, and the folder of what is put on top of it."""

import hashlib
import json
import pathlib
import shutil
from collections.abc import Sequence
from typing import Any, Final

from localcluster import binaries, gomodules, progress, toolchain, versions
from localcluster.images import debian, store

SUITE: Final = "bookworm"
"""The last Debian whose systemd starts on cgroups of version 1."""

PACKAGES: Final = (
    *("systemd", "systemd-sysv", "bash", "ca-certificates", "jq", "kmod", "mount", "procps"),
    *("conntrack", "e2fsprogs", "ethtool", "iproute2", "iptables", "netbase", "nftables"),
    *("containernetworking-plugins", "libseccomp2", "pigz", "runc", "util-linux"),
)
UNWANTED: Final = (
    "lib/systemd/system/sysinit.target.wants/systemd-tmpfiles-setup.service",
    "lib/systemd/system/{multi-user,local-fs,basic}.target.wants/*",
    "lib/systemd/system/sockets.target.wants/*{udev,initctl}*",
    "etc/systemd/system/*.wants",
)
"""What kind's own base image takes away: a container needs no getty, no udev, no mounts."""

UNITS: Final = ("kubelet", "containerd", "undo-mount-hacks")
HERE: Final = pathlib.Path(__file__).parent
KUBEADM: Final = gomodules.GoModule(
    name="kubeadm",
    programs={"kubeadm": "k8s.io/kubernetes/cmd/kubeadm"},
    stamps=gomodules.PROGRAMS["kubelet"].stamps,
    static=True,
    minutes=3.0,
    home=HERE / "go",
)


def debian_archive() -> pathlib.Path:
    """The root file system of Debian packages, made once."""
    digest = hashlib.sha256(json.dumps(command(pathlib.Path(), [], [])).encode()).hexdigest()
    target = store.folder() / f"node-debian-{digest[:12]}.tar"
    if not target.exists():
        debian.ensure()
        lines = [line.replace(debian.SUITE, SUITE) for line in debian.sources()]
        with store.whole(target) as part:
            progress.run(command(part, lines, debian.network()), "node: Debian packages")
    return target


def command(target: pathlib.Path, lines: Sequence[str], settings: Sequence[str]) -> Sequence[str]:
    """The command line that makes it."""
    removal = f'cd "$1" && bash -c "shopt -s nullglob; rm -rf {" ".join(UNWANTED)}"'
    return [
        "mmdebstrap",
        "--variant=minbase",
        "--format=tar",
        f"--include={','.join(PACKAGES)}",
        *(f"--aptopt={setting}" for setting in settings),
        f"--customize-hook={removal}",
        *(f"--customize-hook={line}" for line in debian.NO_TRACE),
        SUITE,
        str(target),
        *lines,
    ]


def lay(root: pathlib.Path) -> None:
    """Lay out what a node has beside Debian, but for its images."""
    _kind_files(root)
    programs = binaries.ensure(
        ["kubelet", "kubectl", "containerd", "containerd-shim-runc-v2", "ctr"]
    )
    for name in ("kubelet", "kubectl"):
        _copy(programs / name, root / "usr/bin" / name)
    _copy(binaries.one(KUBEADM, "kubeadm"), root / "usr/bin/kubeadm")
    for name in ("containerd", "containerd-shim-runc-v2", "ctr"):
        _copy(programs / name, root / "usr/local/bin" / name)
    shutil.copytree(HERE / "manifests", root / "kind/manifests")
    (root / "kind/version").write_text(f"v{versions.KUBERNETES}\n")
    spec = json.loads(progress.quick([programs / "ctr", "oci", "spec"]))
    (root / "etc/containerd/cri-base.json").write_text(json.dumps(base_spec(spec)))
    (root / "etc/kubernetes/manifests").mkdir(parents=True)
    _link(root / "opt/cni/bin", "/usr/lib/cni")
    _units(root / "etc/systemd")
    _containers(root / "etc/containerd/config.toml")


def base_spec(spec: dict[str, Any]) -> dict[str, Any]:
    """What every container in the node starts from, as kind's base image has it."""
    hooks = {"createContainer": [{"path": "/kind/bin/mount-product-files.sh"}]}
    process = {key: value for key, value in spec["process"].items() if key != "rlimits"}
    return {**spec, "process": process, "hooks": hooks}


def _kind_files(root: pathlib.Path) -> None:
    module = gomodules.PROGRAMS["kind"].folder
    files = toolchain.source(module, "sigs.k8s.io/kind") / "images/base/files"
    for path in files.rglob("*"):
        if path.is_file() and "LICENSES" not in path.parts:
            target = root / path.relative_to(files)
            _copy(path, target, 0o755 if target.parent.name == "bin" else 0o644)


def _units(systemd: pathlib.Path) -> None:
    for unit in UNITS:
        at = f"/etc/systemd/system/{unit}.service"
        _link(systemd / f"system/multi-user.target.wants/{unit}.service", at)
    _link(systemd / "system/systemd-binfmt.service", "/dev/null")
    (systemd / "journald.conf.d").mkdir()
    (systemd / "journald.conf.d/kind.conf").write_text("[Journal]\nReadKMsg=no\n")


def _containers(config: pathlib.Path) -> None:
    """The engine itself may lack the right to lower a process's score of being killed."""
    text, lax = config.read_text(), "restrict_oom_score_adj = "
    config.write_text(text.replace(f"{lax}false", f"{lax}true"))


def _copy(source: pathlib.Path, target: pathlib.Path, mode: int = 0o755) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(mode)


def _link(path: pathlib.Path, target: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)
