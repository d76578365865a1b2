"""What the operator puts into pods, as it lies beside the operator's code.

The files are read, never imported: what they do at an import is meant for the pods.
"""

from importlib.util import find_spec
from pathlib import Path

PACKAGE = "_trainingjob"
PUBLIC = "trainingjob"
"""What users import: behind all else on the path, for a module of theirs may have that name."""
LAUNCHER = "_trainingjob_launch"
"""What starts MPI's processes."""
PROGRAMS = ("door", "launch", "ssh", "hosts", "bin/ssh", "bin/hosts")
"""One file under the name of each program; those in `bin` are on the path of the pods."""
_SCRIPT = "_script.py"
_START = "_sitecustomize.py"
"""Runs when an interpreter starts; under its real name it would do so in this checkout as well."""


def reporter() -> dict[str, str]:
    """The reporter's files by their path in the pods."""
    own = {_path(file.name): file for file in _files(PACKAGE)}
    told = {f"public/{PUBLIC}/{file.name}": file for file in _files(PUBLIC)}
    return {path: file.read_text(encoding="utf-8") for path, file in (own | told).items()}


def launcher() -> dict[str, str]:
    """The files that start MPI's processes by their path in the pods."""
    texts = {file.name: file.read_text(encoding="utf-8") for file in _files(LAUNCHER)}
    script = texts.pop(_SCRIPT, None)
    programs = {} if script is None else dict.fromkeys(PROGRAMS, script)
    return programs | {f"{LAUNCHER}/{name}": text for name, text in texts.items()}


def _files(package: str) -> list[Path]:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return []
    return sorted(Path(spec.origin).parent.glob("*.py"))


def _path(name: str) -> str:
    return "sitecustomize.py" if name == _START else f"{PACKAGE}/{name}"
