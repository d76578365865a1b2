"""What an image was made from, as twelve hex digits.

A tag that follows from the inputs has two good ends: nothing is built twice, and
a node that pulls only what is absent can never run a stale image.
"""

import hashlib
import json
import pathlib
from collections.abc import Iterator, Sequence
from typing import Final

from localcluster.images import catalog, debian

RECIPE: Final = "1"
"""To be raised when the same inputs are to give another image."""

LENGTH: Final = 12
BYTECODE: Final = "__pycache__"


def tag(image: catalog.Image, root: pathlib.Path) -> str:
    """The image's tag: a digest of its files, their names and its base."""
    digest = hashlib.sha256(base_tag(image).encode())
    for path in files(image, root):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(root)} {content}\n".encode())
    return digest.hexdigest()[:LENGTH]


def base_tag(image: catalog.Image) -> str:
    """The tag of the image's base: a digest of the command that makes it, whatever the mirror."""
    recipe = [RECIPE, *debian.command(image, pathlib.Path(), [], [])]
    return hashlib.sha256(json.dumps(recipe).encode()).hexdigest()[:LENGTH]


def files(image: catalog.Image, root: pathlib.Path) -> Sequence[pathlib.Path]:
    """Every file that goes into the build, in one order on every machine."""
    found = (path for name in image.inputs for path in _below(root / name))
    return sorted(path for path in found if _counts(image, path.relative_to(root)))


def _below(path: pathlib.Path) -> Iterator[pathlib.Path]:
    if path.is_file():
        yield path
    yield from (found for found in path.rglob("*") if found.is_file())


def _counts(image: catalog.Image, path: pathlib.Path) -> bool:
    return BYTECODE not in path.parts and path.suffix not in image.skipped
