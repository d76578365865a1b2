"""What every kind of cluster can do, whichever one was chosen."""

import pathlib
from collections.abc import Sequence
from typing import Protocol


class Cluster(Protocol):
    """A cluster that gives a kubeconfig."""

    def up(self, nodes: int) -> pathlib.Path:
        """Bring it up, or see that it is up; its kubeconfig."""

    def down(self, *, purge: bool) -> None:
        """Take it down; with `purge`, forget its images too."""

    def status(self) -> str:
        """What runs, for a person."""

    def kubeconfig(self) -> pathlib.Path | None:
        """Its kubeconfig, or None while it is down."""

    def load(self, archives: Sequence[pathlib.Path]) -> None:
        """Make images known to every node."""
