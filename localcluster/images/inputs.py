"""What an image was made from, as twelve hex digits.

A tag that follows from the inputs has two good ends: nothing is built twice, and
a node that pulls only what is absent can never run a stale image.
"""

import hashlib
import json
import pathlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from localcluster.images import catalog

RECIPE: Final = "1"
"""To be raised when the same inputs are to give another image."""

SUITE: Final = "trixie"
LENGTH: Final = 12
SKIPPED: Final = frozenset({"__pycache__"})


def tag(image: catalog.Image, root: pathlib.Path) -> str:
    """The image's tag: a digest of its files, their names and its base."""
    digest = hashlib.sha256(base_tag(image).encode())
    for path in files(root, image.inputs):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(root)} {content}\n".encode())
    return digest.hexdigest()[:LENGTH]


def base_tag(image: catalog.Image) -> str:
    """The tag of the image's base: a digest of the recipe it is made by."""
    recipe = [RECIPE, SUITE, image.packages, image.left_out, image.kept]
    return hashlib.sha256(json.dumps(recipe).encode()).hexdigest()[:LENGTH]


def files(root: pathlib.Path, inputs: Iterable[str]) -> Sequence[pathlib.Path]:
    """Every file that goes into the build, in one order on every machine."""
    return sorted(path for name in inputs for path in _below(root / name) if _counts(path, root))


def _below(path: pathlib.Path) -> Iterator[pathlib.Path]:
    if path.is_file():
        yield path
    yield from (found for found in path.rglob("*") if found.is_file())


def _counts(path: pathlib.Path, root: pathlib.Path) -> bool:
    return SKIPPED.isdisjoint(path.relative_to(root).parts)
