"""Programs: built once, known by what could change them."""

import dataclasses
import io
import json
import pathlib
import tarfile

import pytest

from localcluster import (
    archive,
    binaries,
    errors,
    gomodules,
    packages,
    progress,
    toolchain,
    versions,
)

KUBERNETES = gomodules.PROGRAMS["kubelet"]


def test_a_key_changes_with_flags_and_sources(tmp_path: pathlib.Path) -> None:
    source = tmp_path / "pause" / "go.sum"
    source.parent.mkdir()
    source.write_text("one")
    module = gomodules.GoModule(name="pause", programs={"pause": "."}, home=tmp_path)
    first = module.key
    assert module.key == first
    assert dataclasses.replace(module, tags="x").key != first
    source.write_text("two")
    assert module.key != first


def test_a_program_says_its_version() -> None:
    arguments = KUBERNETES.arguments("kubelet", pathlib.Path("/out"))
    assert arguments[-3:] == ["-o", "/out", "k8s.io/kubernetes/cmd/kubelet"]
    stamp = f"-X k8s.io/component-base/version.gitVersion=v{versions.KUBERNETES}"
    assert any(stamp in argument for argument in arguments)
    assert "-mod=readonly" in arguments


def test_an_older_api_server_says_its_own_version_and_stands_beside_the_same_programs() -> None:
    older = gomodules.programs("1.36")
    (version,) = [version for version in versions.OLDER if version.startswith("1.36.")]
    assert f"gitVersion=v{version}" in " ".join(older["kube-apiserver"].flags)
    assert f"v{version}" in (older["kube-apiserver"].folder / "go.mod").read_text()
    assert older["etcd"] is gomodules.PROGRAMS["etcd"]
    assert binaries.folder(older) != binaries.folder()


def test_our_own_minor_is_no_older_one() -> None:
    assert gomodules.programs("1.37") is gomodules.programs() is gomodules.PROGRAMS


def test_an_unknown_minor_is_refused_with_the_known_ones() -> None:
    with pytest.raises(errors.ClusterError, match=r"Kubernetes 1\.20; known are 1\.37, 1\.36"):
        gomodules.programs("1.20")


@pytest.mark.parametrize(
    "module", [*gomodules.MODULES, gomodules.KUBE_SCORE], ids=lambda module: module.name
)
def test_every_module_is_pinned(module: gomodules.GoModule) -> None:
    text = (module.folder / "go.mod").read_text()
    pinned = getattr(versions, module.name.upper().replace("-", "_"), None)
    assert pinned is None or f"v{pinned}" in text
    assert pinned is None or (module.folder / "go.sum").exists()


def test_what_is_built_is_not_built_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = binaries.folder()
    folder.mkdir(parents=True)
    (folder / "etcd").touch()
    assert binaries.ensure(["etcd"]) == folder


def test_an_unknown_program_is_refused_with_the_known_ones() -> None:
    with pytest.raises(errors.ClusterError, match=r"unknown program etcdd; known are .*etcd"):
        binaries.ensure(["etcdd"])


def test_the_estimate_counts_each_module_once() -> None:
    two = {name: gomodules.PROGRAMS[name] for name in ("kubelet", "kubectl")}
    assert binaries.estimate(two) == gomodules.PROGRAMS["kubelet"].minutes


@pytest.mark.parametrize(
    ("line", "good"),
    [
        ("go version go1.26.8 linux/amd64", True),
        ("go version go1.27 linux/amd64", True),
        ("go version go2.0 linux/amd64", True),
        ("go version go1.19.8 linux/amd64", False),
        ("", False),
    ],
)
def test_new_enough(line: str, good: bool) -> None:
    assert toolchain.new_enough(line) is good


def test_a_program_that_is_missing_is_named_to_who_may_not_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    packages.ensure_programs(["sh"])
    with pytest.raises(errors.ClusterError, match="install no-such-program"):
        packages.ensure_programs(["sh", "no-such-program"])


def test_missing_packages_are_named_with_what_to_do() -> None:
    told = packages.advice(["runc", "nftables"])
    assert "apt-get install runc nftables" in told
    assert "ptp" in told


def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(errors.ClusterError, match="`no-such-program` is not installed"):
        progress.quick(["no-such-program"])


def test_an_image_is_a_layout_that_names_itself(tmp_path: pathlib.Path) -> None:
    target = tmp_path / "image.tar"
    archive.write(target, "local/x:1", {"bin/x": b"program"}, ["/bin/x"])
    with tarfile.open(fileobj=io.BytesIO(target.read_bytes())) as tar:
        names = tar.getnames()
        opened = tar.extractfile("index.json")
        assert opened is not None
        (manifest,) = json.load(opened)["manifests"]
    assert manifest["annotations"] == {"io.containerd.image.name": "local/x:1"}
    assert f"blobs/sha256/{manifest['digest'].removeprefix('sha256:')}" in names
    assert {"oci-layout", "index.json"} < set(names)


def test_a_modules_files_are_fetched_where_only_its_program_was_cached(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`go list -m` names no folder then, and nothing was copied from there."""
    go = tmp_path / "go"
    asked = '"$1 $3 $4 $5 $6" = "-C mod download -json example.org/kind"'
    told = json.dumps({"Dir": f"{tmp_path}/files"})
    go.write_text(f"#!/bin/sh\n[ {asked} ] && echo '{told}'\n")
    go.chmod(0o755)
    monkeypatch.setattr(toolchain, "go", lambda: go)
    assert toolchain.source(tmp_path / "module", "example.org/kind") == tmp_path / "files"
