"""The way from a program's name to what it does; each needs the group that its pod is in."""

from __future__ import annotations

import importlib
import os
import sys

from _trainingjob_launch import group

PROGRAMS = ("door", "launch", "ssh", "hosts")
_FIRST = frozenset({"door", "launch"})
"""Those that run before any program of the user's."""


def main(name: str, here: str, arguments: list[str]) -> int:
    """Run a program; its exit code."""
    try:
        own = (group.read if name in _FIRST else group.recalled)(os.environ, here)
    except (KeyError, OSError, TypeError, ValueError) as error:
        print(f"{name}: this is no pod of an MPI job: {error!r}", file=sys.stderr)
        return 255
    program = importlib.import_module(f"_trainingjob_launch.{name}")
    code: int = program.main(own, arguments)
    return code
