"""Building with Docker, where it runs and reaches its registry.

That is what most people have, and it needs no root. Docker keeps unchanged
layers by itself.
"""

import pathlib
import re
import subprocess
from collections.abc import Sequence
from typing import Final

from localcluster import progress
from localcluster.images import catalog

PATIENCE: Final = 120
"""Seconds that the registry gets to hand out a base image."""

BASE: Final = re.compile(r"^ARG BASE=(\S+)$", re.MULTILINE)


def reaches(image: catalog.Image) -> bool:
    """Whether a Docker engine answers here and has, or can pull, the base of an image."""
    base = default_base(image)
    if not _succeeds(["docker", "version"]):
        return False
    return _succeeds(["docker", "image", "inspect", base]) or _succeeds(["docker", "pull", base])


def default_base(image: catalog.Image) -> str:
    """The public image that the Dockerfile starts from."""
    found = BASE.search((catalog.ROOT / image.dockerfile).read_text())
    if found is None:
        raise ValueError(f"{image.dockerfile} names no base")
    return found[1]


def build(image: catalog.Image, tag: str, target: pathlib.Path) -> None:
    """Build an image and write its archive."""
    progress.say(f"[1/2] {image.name}: docker build")
    progress.run(build_command(image, tag), f"{image.name}: docker build")
    progress.say(f"[2/2] {image.name}: the archive")
    names = [image.reference(tag), image.reference()]
    progress.run(["docker", "save", f"--output={target}", *names], f"{image.name}: docker save")


def build_command(image: catalog.Image, tag: str) -> Sequence[str]:
    """The command line that builds one image from the checkout under both its names."""
    return [
        "docker",
        "build",
        f"--file={catalog.ROOT / image.dockerfile}",
        f"--tag={image.reference(tag)}",
        f"--tag={image.reference()}",
        str(catalog.ROOT),
    ]


def _succeeds(argv: Sequence[str]) -> bool:
    try:
        done = subprocess.run(argv, capture_output=True, check=False, timeout=PATIENCE)
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
