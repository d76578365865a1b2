"""The command line: `python -m localcluster.images build` and `… load`.

Both end with one line per image on standard output, `NAME REFERENCE ARCHIVE`,
for scripts; all else goes to standard error. What has not changed is not built,
and the images of single frameworks only when they are named.
"""

import argparse
import dataclasses
import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Sequence

from localcluster import cache, errors, progress
from localcluster.images import buildah, catalog, docker, inputs, store


@dataclasses.dataclass(frozen=True, slots=True)
class Built:
    """An image that is there: its name, its full reference, its archive."""

    name: str
    reference: str
    archive: pathlib.Path

    def __str__(self) -> str:
        """The line that scripts read."""
        return f"{self.name} {self.reference} {self.archive}"


def ensure(image: catalog.Image) -> Built:
    """Build an image unless its inputs are those of an archive that is there."""
    tag = inputs.tag(image, catalog.ROOT)
    target = store.archive(image, tag)
    if target.exists():
        os.utime(target)
    else:
        _build(image, tag, target)
    store.prune(image)
    return Built(image.name, image.reference(tag), target)


def _build(image: catalog.Image, tag: str, target: pathlib.Path) -> None:
    began = time.monotonic()
    builder = docker if docker.reaches(image) else buildah
    with store.whole(target) as part:
        builder.build(image, tag, part)
    size = target.stat().st_size / 1e6
    lasted = progress.lasting(time.monotonic() - began)
    progress.say(f"{image.name}: {image.reference(tag)}, {size:.0f} MB, built in {lasted}")


def _load(images: Sequence[Built]) -> None:
    argv = [sys.executable, "-m", "localcluster", "load", *(str(one.archive) for one in images)]
    done = subprocess.run(argv, cwd=catalog.ROOT, check=False, stdout=sys.stderr)
    if done.returncode:
        raise errors.ClusterError("the cluster did not take the images; why is said above")


def main(arguments: Sequence[str]) -> int:
    """Carry out one command; 1 with a message when it cannot be done."""
    options = _parser().parse_args(arguments)
    names = options.names or [image.name for image in catalog.USUAL]
    return progress.told(lambda: _carry_out(names, load=options.command == "load"))


def _carry_out(names: Sequence[str], *, load: bool) -> None:
    with cache.alone(store.folder() / "lock", "the images"):
        built = [ensure(catalog.IMAGES[name]) for name in names]
    if load:
        _load(built)
    print(*built, sep="\n", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m localcluster.images", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (
        ("build", "build what changed, and print where the archives lie"),
        ("load", "build what changed, and import it into every node of the cluster"),
    ):
        command = commands.add_parser(name, help=text)
        command.add_argument("names", nargs="*", choices=[*catalog.IMAGES, []], metavar="NAME")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
