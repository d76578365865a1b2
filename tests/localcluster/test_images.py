"""What decides whether an image is built, and the command lines that build it."""

import json
import os
import pathlib
import re
import tarfile
from collections.abc import Callable

import pytest

from localcluster import errors
from localcluster.images import __main__ as program
from localcluster.images import buildah, catalog, debian, docker, inputs, layout, store

Change = Callable[[pathlib.Path], None]

IMAGE = catalog.Image(
    name="toy",
    inputs=("Dockerfile", "source"),
    packages=("python3",),
    left_out=("/usr/share/doc/*",),
    kept=("/usr/share/doc/python3",),
    skipped=(".md",),
)


@pytest.fixture
def root(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "a.py").write_text("a = 1\n")
    (tmp_path / "Dockerfile").write_text("FROM scratch\n")
    return tmp_path


def changed_content(root: pathlib.Path) -> None:
    (root / "source" / "a.py").write_text("a = 2\n")


def renamed_file(root: pathlib.Path) -> None:
    (root / "source" / "a.py").rename(root / "source" / "b.py")


def new_file(root: pathlib.Path) -> None:
    (root / "source" / "b.py").touch()


def changed_dockerfile(root: pathlib.Path) -> None:
    (root / "Dockerfile").write_text("FROM other\n")


def bytecode(root: pathlib.Path) -> None:
    (root / "source" / "__pycache__").mkdir()
    (root / "source" / "__pycache__" / "a.pyc").write_text("code")


def other_time(root: pathlib.Path) -> None:
    (root / "source" / "a.py").touch()


def documentation(root: pathlib.Path) -> None:
    (root / "source" / "README.md").write_text("hello\n")


def file_elsewhere(root: pathlib.Path) -> None:
    (root / "README.md").write_text("hello\n")


@pytest.mark.parametrize(
    "change",
    [changed_content, renamed_file, new_file, changed_dockerfile],
    ids=lambda c: c.__name__,
)
def test_a_changed_input_gives_another_tag(root: pathlib.Path, change: Change) -> None:
    before = inputs.tag(IMAGE, root)
    change(root)
    assert inputs.tag(IMAGE, root) != before


@pytest.mark.parametrize(
    "change", [bytecode, other_time, documentation, file_elsewhere], ids=lambda c: c.__name__
)
def test_what_the_image_does_not_hold_keeps_the_tag(root: pathlib.Path, change: Change) -> None:
    before = inputs.tag(IMAGE, root)
    change(root)
    assert inputs.tag(IMAGE, root) == before


def test_a_missing_folder_is_an_empty_one(root: pathlib.Path) -> None:
    (root / "source" / "a.py").unlink()
    before = inputs.tag(IMAGE, root)
    (root / "source").rmdir()
    assert inputs.tag(IMAGE, root) == before


def test_another_package_gives_another_base_and_another_tag(root: pathlib.Path) -> None:
    other = catalog.Image(name="toy", inputs=IMAGE.inputs, packages=("python3", "less"))
    assert inputs.base_tag(other) != inputs.base_tag(IMAGE)
    assert inputs.tag(other, root) != inputs.tag(IMAGE, root)


@pytest.mark.parametrize("image", catalog.IMAGES.values(), ids=catalog.IMAGES)
def test_every_image_of_the_catalogue_is_in_the_checkout(image: catalog.Image) -> None:
    dockerfile = catalog.ROOT / image.dockerfile
    assert docker.default_base(image).startswith("docker.io/library/python:3.")
    assert all((catalog.ROOT / name).exists() for name in image.inputs)
    assert dockerfile.with_name("Dockerfile.dockerignore").exists()


@pytest.mark.parametrize("image", catalog.IMAGES.values(), ids=catalog.IMAGES)
def test_what_is_hashed_is_what_the_build_may_read(image: catalog.Image) -> None:
    ignore = (catalog.ROOT / f"{image.dockerfile}.dockerignore").read_text().splitlines()
    read = {line.removeprefix("!") for line in ignore if line.startswith("!")}
    assert read <= {*image.inputs}
    assert {*image.inputs} - read <= {f"images/{image.name}"}
    assert {line[line.rindex("*") + 1 :] for line in ignore if "*." in line} == {*image.skipped}


@pytest.mark.parametrize(
    ("named", "built"),
    [([], ["operator", "trainer"]), (["jax", "mpi"], ["jax", "mpi"])],
    ids=["the usual ones when none is named", "those that are named and no other"],
)
@pytest.mark.parametrize("command", ["build", "load"])
def test_which_images_are_built(
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    named: list[str],
    built: list[str],
) -> None:
    asked: list[str] = []

    def ensure(image: catalog.Image) -> program.Built:
        asked.append(image.name)
        return program.Built(image.name, image.reference(), pathlib.Path(image.name))

    monkeypatch.setattr(store, "folder", lambda: tmp_path)
    monkeypatch.setattr(program, "ensure", ensure)
    monkeypatch.setattr(program, "_load", lambda _: None)
    assert program.main([command, *named]) == 0
    assert asked == built


def test_images_that_share_a_base_would_make_the_same_one() -> None:
    bases: dict[str, set[str]] = {}
    for image in catalog.IMAGES.values():
        bases.setdefault(image.base, set()).add(inputs.base_tag(image))
    assert {base: len(tags) for base, tags in bases.items()} == dict.fromkeys(bases, 1)
    assert catalog.JAX.base == catalog.TENSORFLOW.base != catalog.OPERATOR.base


@pytest.mark.parametrize("image", catalog.IMAGES.values(), ids=catalog.IMAGES)
def test_what_pip_installs_has_one_version(image: catalog.Image) -> None:
    listed = (catalog.ROOT / image.dockerfile).with_name("requirements.txt")
    lines = listed.read_text().splitlines()[1:] if listed.exists() else []
    assert [line for line in lines if not re.fullmatch(r"[\w-]+==[\w.]+", line)] == []


def test_apt_names_the_mirror_for_our_suite() -> None:
    targets = (
        "Other Other http://other/\n"
        "Debian Debian http://mirror/debian/\n"
        "Debian Debian http://second/debian/\n"
        "Debian Debian-Security http://mirror/security/\n"
    )
    assert debian.source_lines(targets) == [
        "deb http://mirror/debian/ trixie main",
        "deb http://mirror/security/ trixie-security main",
    ]


def test_a_machine_without_a_debian_mirror_is_told_to_name_one() -> None:
    with pytest.raises(errors.ClusterError, match="DEBIAN_MIRROR="):
        debian.source_lines("Ubuntu Ubuntu http://mirror/ubuntu/\n")


def test_a_named_mirror_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEBIAN_MIRROR", "http://mine/debian")
    assert debian.sources() == ["deb http://mine/debian trixie main"]


def test_only_apts_settings_of_the_network_are_taken_along() -> None:
    dump = (
        'Acquire "";\nAcquire::http "";\nAcquire::http::Proxy "http://proxy:1/";\n'
        'Acquire::Languages "none";\nAcquire::Check-Date "false";\n'
    )
    assert debian.NETWORK_SETTING.findall(dump) == [
        'Acquire::http::Proxy "http://proxy:1/";',
        'Acquire::Check-Date "false";',
    ]


def test_exceptions_come_after_what_is_left_out(tmp_path: pathlib.Path) -> None:
    argv = debian.command(IMAGE, tmp_path / "out.tar", ["deb http://m trixie main"], [])
    assert argv.index("--dpkgopt=path-exclude=/usr/share/doc/*") < argv.index(
        "--dpkgopt=path-include=/usr/share/doc/python3"
    )
    assert argv[-3:] == ["trixie", str(tmp_path / "out.tar"), "deb http://m trixie main"]


def test_buildah_builds_our_dockerfile_on_the_base_and_asks_no_registry() -> None:
    argv = buildah.command(catalog.OPERATOR, "abc", "localhost/base:1", [("/a", "/b")])
    assert {"--pull-never", "--build-arg=BASE=localhost/base:1", "--volume=/a:/b:ro"} <= {*argv}
    assert "--tag=localhost/trainingjob-operator:abc" in argv


def test_docker_gives_both_names_to_one_build() -> None:
    argv = docker.build_command(catalog.TRAINER, "abc")
    assert "--tag=localhost/trainingjob-trainer:abc" in argv
    assert "--tag=localhost/trainingjob-trainer:dev" in argv


def test_an_interrupted_write_leaves_nothing(tmp_path: pathlib.Path) -> None:
    def write_half() -> None:
        with store.whole(tmp_path / "toy-1.tar") as part:
            part.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_half()
    assert list(tmp_path.iterdir()) == []


def test_only_the_newest_archives_of_one_image_stay(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "folder", lambda: tmp_path)
    for age, name in enumerate(["toy-1.tar", "other-1.tar", "toy-2.tar", "toy-3.tar"]):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (age, age))
    store.prune(IMAGE)
    assert {path.name for path in tmp_path.iterdir()} == {"other-1.tar", "toy-2.tar", "toy-3.tar"}


def oci_folder(folder: pathlib.Path) -> pathlib.Path:
    """A folder as buildah writes it, with a blob of an earlier image in it."""
    blobs = folder / "blobs" / "sha256"
    blobs.mkdir(parents=True)
    manifest = {"config": {"digest": "sha256:c"}, "layers": [{"digest": "sha256:l"}] * 2}
    for name, content in {"m": json.dumps(manifest), "c": "{}", "l": "layer", "old": "x"}.items():
        (blobs / name).write_text(content)
    entries = [{"digest": "sha256:old"}, {"digest": "sha256:m"}]
    (folder / "index.json").write_text(json.dumps({"manifests": entries}))
    return folder


def test_an_archive_holds_the_newest_image_once_under_every_name(tmp_path: pathlib.Path) -> None:
    layout.pack(oci_folder(tmp_path / "oci"), ["a:1", "a:dev"], tmp_path / "a.tar")
    with tarfile.open(tmp_path / "a.tar") as archive:
        names = archive.getnames()
        index = json.load(archive.extractfile("index.json"))
    assert names[:2] == ["oci-layout", "index.json"]
    assert names[2:] == [f"blobs/sha256/{name}" for name in "mcl"]
    assert [entry["annotations"][layout.NAME] for entry in index["manifests"]] == ["a:1", "a:dev"]
    assert layout.names(tmp_path / "a.tar") == {"a:1": "sha256:m", "a:dev": "sha256:m"}


def test_blobs_of_earlier_images_are_forgotten(tmp_path: pathlib.Path) -> None:
    folder = oci_folder(tmp_path)
    layout.forget(folder)
    assert {path.name for path in (folder / "blobs" / "sha256").iterdir()} == {"m", "c", "l"}
    assert json.loads((folder / "index.json").read_text())["manifests"] == [{"digest": "sha256:m"}]
