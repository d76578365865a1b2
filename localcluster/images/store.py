"""Where images lie once they are built.

An archive appears under its final name only when it is whole, so that a build
that was interrupted never leaves one that loads half.
"""

import contextlib
import pathlib
from collections.abc import Iterator
from typing import Final

from localcluster import cache
from localcluster.images import catalog

KEPT: Final = 2
"""Archives of one image: the newest, and the one before it for a quick way back."""


def folder() -> pathlib.Path:
    """The folder of all archives, made when it is missing."""
    path = cache.folder() / "images"
    path.mkdir(exist_ok=True)
    return path


def archive(image: catalog.Image, tag: str) -> pathlib.Path:
    """Where the archive of this build lies, or will lie."""
    return folder() / f"{image.name}-{tag}.tar"


@contextlib.contextmanager
def whole(target: pathlib.Path) -> Iterator[pathlib.Path]:
    """A path to write to, which becomes `target` when all went well and nothing otherwise."""
    part = target.with_suffix(".part")
    part.unlink(missing_ok=True)
    try:
        yield part
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def prune(image: catalog.Image) -> None:
    """Delete all but the newest archives of an image."""
    found = sorted(folder().glob(f"{image.name}-*.tar"), key=_age)
    for path in found[:-KEPT]:
        path.unlink()


def _age(path: pathlib.Path) -> float:
    return path.stat().st_mtime
