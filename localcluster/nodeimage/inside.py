"""The images in a node: what kubeadm starts, all of it one set of layers under many names.

Each of Kubernetes' own images is one program on a small Debian. Here they are one image with all
programs; kubeadm says which program a container starts, and only who is told nothing differs.
"""

import contextlib
import hashlib
import io
import json
import pathlib
import subprocess
import tarfile
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from localcluster import archive, binaries, errors, gomodules, progress, versions
from localcluster.images import layout
from localcluster.nodeimage import system

COREDNS: Final = gomodules.GoModule(
    name="node-coredns",
    programs={"coredns": "."},
    static=True,
    minutes=2.0,
    home=system.HERE / "go",
)
SERVERS: Final = (
    *("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"),
    *("kube-proxy", "kubectl"),
)
OWN: Final = ("localhost/trainingjob-node-programs:1", "registry.k8s.io/pause:3.10")
"""What the network's manifest and kind's configuration of containerd name."""

PATIENCE: Final = 60.0


def names() -> Sequence[str]:
    """Every image that kubeadm, kind and the network's manifest ask for."""
    kubeadm = binaries.one(system.KUBEADM, "kubeadm")
    version = f"--kubernetes-version=v{versions.KUBERNETES}"
    return [*progress.quick([kubeadm, "config", "images", "list", version]).split(), *OWN]


def program(name: str) -> str:
    """What a container of an image runs that is told nothing else."""
    return "/pause" if "/pause:" in name else "/coredns"


def write(base: pathlib.Path, folder: pathlib.Path, target: pathlib.Path) -> None:
    """Write an archive of all images, with Debian as their lower layer."""
    programs = folder / "programs.tar"
    _pack(programs)
    layers = {_digest(path): path for path in (base, programs)}
    small: dict[str, bytes] = {}
    described = [
        _descriptor("layer.v1.tar", key, path.stat().st_size) for key, path in layers.items()
    ]
    entries = [_entry(name, described, small) for name in names()]
    with tarfile.open(target, "w") as packed:
        _add(packed, "oci-layout", layout.HEAD)
        index = {"schemaVersion": 2, "manifests": entries}
        _add(packed, "index.json", json.dumps(index).encode())
        for digest, blob in small.items():
            _add(packed, f"blobs/sha256/{digest}", blob)
        for digest, path in layers.items():
            packed.add(path, f"blobs/sha256/{digest}")


def load(images: pathlib.Path, root: pathlib.Path, folder: pathlib.Path) -> None:
    """Put the images where the node's containerd finds them when it starts."""
    socket = folder / "containerd.sock"
    config = folder / "containerd.toml"
    config.write_text(
        f'version = 3\nroot = "{root / "var/lib/containerd"}"\nstate = "{folder / "state"}"\n'
        'disabled_plugins = ["io.containerd.cri.v1.runtime", "io.containerd.cri.v1.images", '
        f'"io.containerd.grpc.v1.cri"]\n[grpc]\naddress = "{socket}"\n'
    )
    programs = binaries.ensure(["containerd", "ctr"])
    ctr = [str(programs / "ctr"), "--address", str(socket), "--namespace", "k8s.io"]
    with _running([str(programs / "containerd"), "--config", str(config)], ctr):
        argv = [*ctr, "images", "import", "--no-unpack", "--all-platforms", str(images)]
        progress.run(argv, "node: images")


@contextlib.contextmanager
def _running(argv: Sequence[str], ctr: Sequence[str]) -> Iterator[None]:
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            deadline = time.monotonic() + PATIENCE
            while not _answers(ctr):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise errors.ClusterError("containerd did not start to take the node's images")
                time.sleep(0.5)
            yield
        finally:
            process.terminate()


def _answers(ctr: Sequence[str]) -> bool:
    return subprocess.run([*ctr, "version"], capture_output=True, check=False).returncode == 0


def _pack(target: pathlib.Path) -> None:
    folder = binaries.ensure([*SERVERS, "pause"])
    files = {f"usr/local/bin/{name}": folder / name for name in SERVERS}
    files |= {"coredns": binaries.one(COREDNS, "coredns"), "pause": folder / "pause"}
    with tarfile.open(target, "w") as layer:
        for name, path in files.items():
            layer.add(path, name)


def _entry(name: str, layers: Sequence[Any], blobs: dict[str, bytes]) -> Mapping[str, Any]:
    config = {
        "architecture": archive.machine(),
        "os": "linux",
        "config": {
            "Entrypoint": [program(name)],
            "Env": ["PATH=/usr/local/bin:/usr/sbin:/usr/bin"],
        },
        "rootfs": {"type": "layers", "diff_ids": [layer["digest"] for layer in layers]},
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": f"{archive.MEDIA}.manifest.v1+json",
        "config": _keep("config.v1+json", config, blobs),
        "layers": layers,
    }
    entry = _keep("manifest.v1+json", manifest, blobs)
    return {**entry, "annotations": {layout.NAME: name}}


def _keep(media: str, document: Mapping[str, Any], blobs: dict[str, bytes]) -> dict[str, Any]:
    blob = json.dumps(document).encode()
    digest = hashlib.sha256(blob).hexdigest()
    blobs[digest] = blob
    return _descriptor(media, digest, len(blob))


def _descriptor(media: str, digest: str, size: int) -> dict[str, Any]:
    return {"mediaType": f"{archive.MEDIA}.{media}", "digest": f"sha256:{digest}", "size": size}


def _digest(path: pathlib.Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _add(packed: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    packed.addfile(member, io.BytesIO(content))
