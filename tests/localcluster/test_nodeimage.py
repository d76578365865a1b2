"""A node image for kind that is made here: what goes into it, under which names."""

import hashlib
import json
import pathlib
import tarfile

import pytest
import yaml

from localcluster import gomodules, versions
from localcluster.nodeimage import inside, system, trimmed_runc

MANIFESTS = system.HERE / "manifests"
NAMES = ("registry.k8s.io/kube-proxy:v1", "registry.k8s.io/pause:3")


@pytest.mark.parametrize(
    ("module", "version"),
    [(system.KUBEADM, versions.KUBERNETES), (inside.COREDNS, versions.COREDNS)],
    ids=["kubeadm", "CoreDNS"],
)
def test_what_only_a_node_has_is_of_the_clusters_versions(
    module: gomodules.GoModule, version: str
) -> None:
    assert f" v{version}" in (module.folder / "go.mod").read_text()
    assert module.name not in {known.name for known in gomodules.MODULES}


def test_a_container_starts_from_kinds_hook_and_the_engines_limits() -> None:
    spec = {"process": {"cwd": "/", "rlimits": [{"type": "RLIMIT_NOFILE"}]}, "mounts": []}
    made = system.base_spec(spec)
    assert made["process"] == {"cwd": "/"}
    assert made["mounts"] == []
    (hook,) = made["hooks"]["createContainer"]
    assert hook["path"] == "/kind/bin/mount-product-files.sh"
    assert "rlimits" in spec["process"]


def test_debian_comes_without_what_a_container_has_no_use_for() -> None:
    line = " ".join(system.command(pathlib.Path("/out"), ["deb http://mirror bookworm main"], []))
    assert line.endswith("bookworm /out deb http://mirror bookworm main")
    assert all(pattern in line for pattern in system.UNWANTED)


def test_the_network_runs_from_an_image_that_is_in_the_node() -> None:
    text = (MANIFESTS / "default-cni.yaml").read_text()
    assert "would you kindly patch this file" in text
    (routes,) = [one for one in yaml.safe_load_all(text) if one and one["kind"] == "DaemonSet"]
    (container,) = routes["spec"]["template"]["spec"]["containers"]
    assert container["image"] in inside.OWN
    assert container["imagePullPolicy"] == "Never"


def test_all_images_are_one_under_many_names(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    base = tmp_path / "debian.tar"
    base.write_bytes(b"debian")
    monkeypatch.setattr(inside, "names", lambda: NAMES)
    monkeypatch.setattr(inside, "_pack", lambda target: target.write_bytes(b"programs"))
    inside.write(base, tmp_path, tmp_path / "images.tar")
    with tarfile.open(tmp_path / "images.tar") as packed:
        blobs = {
            member.name: found.read()
            for member in packed
            if (found := packed.extractfile(member)) is not None
        }
    for name, blob in blobs.items():
        if name.startswith("blobs/"):
            assert name == f"blobs/sha256/{hashlib.sha256(blob).hexdigest()}"
    assert [entrypoint(blobs, entry) for entry in json.loads(blobs["index.json"])["manifests"]] == [
        (NAMES[0], "/coredns", [b"debian", b"programs"]),
        (NAMES[1], "/pause", [b"debian", b"programs"]),
    ]


def entrypoint(
    blobs: dict[str, bytes], entry: dict[str, object]
) -> tuple[object, object, list[bytes]]:
    """An image's name, what it runs, and its layers."""

    def blob(described: object) -> bytes:
        assert isinstance(described, dict)
        return blobs[f"blobs/{described['digest'].replace(':', '/')}"]

    manifest = json.loads(blob(entry))
    (program,) = json.loads(blob(manifest["config"]))["config"]["Entrypoint"]
    notes = entry["annotations"]
    assert isinstance(notes, dict)
    return (*notes.values(), program, [blob(layer) for layer in manifest["layers"]])


@pytest.mark.parametrize(
    ("command", "inside_of"),
    [
        ("--root /r create --bundle {folder} --pid-file /p id", "process"),
        ("--root /r exec --process {folder}/config.json --detach id", ""),
    ],
    ids=["a container", "a further process"],
)
def test_what_the_engine_may_not_do_is_not_asked_for(
    tmp_path: pathlib.Path, command: str, inside_of: str
) -> None:
    process = {
        "capabilities": {"bounding": ["CAP_CHOWN", "CAP_SYS_RESOURCE"], "ambient": []},
        "oomScoreAdj": -999,
        "cwd": "/",
    }
    file = tmp_path / "config.json"
    file.write_text(json.dumps({inside_of: process} if inside_of else process))
    trimmed_runc.rewrite(command.format(folder=tmp_path).split())
    left = json.loads(file.read_text())
    expected = {"capabilities": {"bounding": ["CAP_CHOWN"], "ambient": []}, "cwd": "/"}
    assert (left[inside_of] if inside_of else left) == expected


def test_other_commands_of_runc_go_on_as_they_are(tmp_path: pathlib.Path) -> None:
    trimmed_runc.rewrite(["--root", str(tmp_path), "delete", "--force", "id"])
    assert not list(tmp_path.iterdir())
