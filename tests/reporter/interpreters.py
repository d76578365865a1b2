"""A Python with torch to test with: this one, one that is named, or the trainer image's.

Torch is gigabytes where it comes with CUDA, so it is no dependency of the tests. The trainer
image has it: its archive, which `make images` leaves in the cache, is unpacked and run in a
root of its own. That needs root, as the local cluster does.
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from localcluster.images import store

NAMED = "TRAININGJOB_TEST_PYTHON"
ENTER = """#!/bin/sh
root="$1"; shift
for place in proc dev sys tmp; do mount --rbind /$place "$root/$place"; done
exec chroot "$root" /bin/sh -c 'cd "$0" && exec python "$@"' "$PWD" "$@"
"""


def with_torch(folder: Path) -> Sequence[str]:
    """The command of such an interpreter; the test is skipped where there is none."""
    if os.environ.get(NAMED):
        return (os.environ[NAMED],)
    if importlib.util.find_spec("torch"):
        return (sys.executable,)
    archives = sorted(store.folder().glob("trainer-*.tar"), key=lambda path: path.stat().st_mtime)
    if not archives or os.geteuid() != 0 or not shutil.which("unshare"):
        pytest.skip(f"no torch here: set {NAMED}, or as root run `make images`")
    return _enter(archives[-1], folder)


def _enter(archive: Path, folder: Path) -> Sequence[str]:
    root = folder / "root"
    root.mkdir()
    for layer in _layers(archive, folder):
        subprocess.run(["tar", "-xf", layer, "-C", root], check=True)
        layer.unlink()
    script = folder / "enter"
    script.write_text(ENTER)
    script.chmod(0o755)
    return ("unshare", "--mount", str(script), str(root))


def _layers(archive: Path, folder: Path) -> list[Path]:
    """The image's layers, lowest first, as files of their own."""
    with tarfile.open(archive) as image:

        def blob(digest: str) -> str:
            return f"blobs/sha256/{digest.removeprefix('sha256:')}"

        def read(name: str) -> dict[str, list[dict[str, str]]]:
            member = image.extractfile(name)
            assert member
            found: dict[str, list[dict[str, str]]] = json.load(member)
            return found

        manifest = read(blob(read("index.json")["manifests"][0]["digest"]))
        names = [blob(layer["digest"]) for layer in manifest["layers"]]
        image.extractall(folder, [image.getmember(name) for name in names], filter="data")
        return [folder / name for name in names]
