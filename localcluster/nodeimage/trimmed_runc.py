#!/usr/bin/env python3
"""runc for an engine that has no CAP_SYS_RESOURCE itself, as one in a container has none.

A container that shall have every capability does not start there ("unable to apply caps"). With
`dockerd --add-runtime trimmed=THIS_FILE --default-runtime trimmed` what cannot be given is not
asked for. It stands alone: dockerd runs it with the system's Python.
"""

import itertools
import json
import os
import pathlib
import sys
from collections.abc import Sequence
from typing import Any

LACKING = "CAP_SYS_RESOURCE"


def trim(process: dict[str, Any]) -> None:
    """Take out of a process's description what only that capability allows."""
    for names in (process.get("capabilities") or {}).values():
        if LACKING in names:
            names.remove(LACKING)
    if (process.get("oomScoreAdj") or 0) < 0:
        del process["oomScoreAdj"]


def rewrite(arguments: Sequence[str]) -> None:
    """Trim the file that runc is about to read: a container's, or that of a further process."""
    bundle, process = _after(arguments, "--bundle", "-b"), _after(arguments, "--process", "-p")
    if {"create", "run"} & set(arguments) and bundle:
        _edit(pathlib.Path(bundle) / "config.json", inside="process")
    elif "exec" in arguments and process:
        _edit(pathlib.Path(process))


def _after(arguments: Sequence[str], *names: str) -> str:
    for name, value in itertools.pairwise(arguments):
        if name in names:
            return value
    return ""


def _edit(path: pathlib.Path, inside: str = "") -> None:
    document = json.loads(path.read_text())
    trim(document[inside] if inside else document)
    path.write_text(json.dumps(document))


if __name__ == "__main__":
    rewrite(sys.argv[1:])
    os.execvp("runc", ["runc", *sys.argv[1:]])  # noqa: S606  no shell is wanted
