"""Building without a daemon and without a registry.

The project's own Dockerfiles are built by buildah on a base made from Debian
packages. Its store lies in our cache folder, so that nobody's own images are
touched, and so that a layer that did not change is not built again.
"""

import os
import pathlib
import subprocess
from collections.abc import Iterable, Sequence
from typing import Final

from localcluster import progress
from localcluster.images import catalog, debian, inputs, layout, store

RUN_FOLDER: Final = pathlib.Path("/run/trainingjob-images")
CERTIFICATES: Final = "/etc/ssl/certs/ca-certificates.crt"
PIP_SETTINGS: Final = ("~/.config/pip/pip.conf", "~/.pip/pip.conf", "/etc/pip.conf")


def build(image: catalog.Image, tag: str, target: pathlib.Path) -> None:
    """Build an image and write its archive."""
    debian.ensure()
    buildah = program(store.folder())
    base = f"{image.base}:{inputs.base_tag(image)}"
    if not _has(buildah, base):
        _make_base(buildah, image, base)
    progress.say(f"[3/4] {image.name}: the layers of {image.dockerfile}")
    argv = command(image, tag, base, mounts())
    progress.run([*buildah, *argv], f"{image.name}: layers")
    progress.say(f"[4/4] {image.name}: the archive")
    _export(buildah, image, tag, target)


def program(folder: pathlib.Path) -> Sequence[str]:
    """Buildah with a store of our own, on overlay where the kernel and the disk allow it."""
    overlay = _using(folder, "overlay")
    works = subprocess.run([*overlay, "info"], capture_output=True, check=False).returncode == 0
    return overlay if works else _using(folder, "vfs")


def command(
    image: catalog.Image, tag: str, base: str, mounted: Iterable[tuple[str, str]]
) -> Sequence[str]:
    """Buildah's arguments that build one image from the checkout."""
    dockerfile = catalog.ROOT / image.dockerfile
    return [
        "bud",
        "--isolation=chroot",
        "--layers",
        "--pull-never",
        f"--build-arg=BASE={base}",
        f"--ignorefile={dockerfile}.dockerignore",
        f"--file={dockerfile}",
        *(f"--volume={source}:{at}:ro" for source, at in mounted),
        f"--tag={image.reference(tag)}",
        str(catalog.ROOT),
    ]


def mounts() -> Sequence[tuple[str, str]]:
    """What pip in a build must know of this machine's network: its certificates, its index."""
    named = os.environ.get("PIP_CONFIG_FILE", "")
    settings = [os.path.expanduser(path) for path in (named, *PIP_SETTINGS)]  # noqa: PTH111  strings
    wanted = [(CERTIFICATES, CERTIFICATES), *((path, "/etc/pip.conf") for path in settings)]
    there = {at: source for source, at in reversed(wanted) if pathlib.Path(source).is_file()}
    return [(source, at) for at, source in there.items()]


def _using(folder: pathlib.Path, driver: str) -> Sequence[str]:
    where = f"--root={folder / f'storage-{driver}'}"
    return ["buildah", where, f"--runroot={RUN_FOLDER / driver}", f"--storage-driver={driver}"]


def _has(buildah: Sequence[str], reference: str) -> bool:
    argv = [*buildah, "inspect", "--type=image", reference]
    return subprocess.run(argv, capture_output=True, check=False).returncode == 0


def _make_base(buildah: Sequence[str], image: catalog.Image, base: str) -> None:
    packages = store.folder() / f"base-{image.name}.tar"
    progress.say(f"[1/4] {image.name}: Debian packages (some minutes, done once)")
    debian.bootstrap(image, packages)
    progress.say(f"[2/4] {image.name}: a base image of them")
    container = progress.quick([*buildah, "from", "scratch"]).strip()
    add = [*buildah, "add", "--quiet", container, str(packages), "/"]
    progress.run(add, f"{image.name}: unpacking")
    progress.run([*buildah, "commit", "--quiet", "--rm", container, base], f"{image.name}: base")
    packages.unlink()


def _export(buildah: Sequence[str], image: catalog.Image, tag: str, target: pathlib.Path) -> None:
    folder = store.folder() / f"layout-{image.name}"
    push = ["push", image.reference(tag), f"oci:{folder}:{catalog.ALIAS}"]
    progress.run([*buildah, *push], f"{image.name}: writing layers")
    layout.pack(folder, [image.reference(tag), image.reference()], target)
    layout.forget(folder)
