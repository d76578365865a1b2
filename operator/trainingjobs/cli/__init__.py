"""The command line: `trainingjob`, or `kubectl tj` as kubectl's plugin."""

import sys
from io import TextIOWrapper
from pathlib import Path

_NEEDED = {"click", "lightkube", "httpx2", "msgspec"}
_PREFIX = "kubectl-"


def main() -> None:
    """Do what the command line says, and end the process."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # for terminals that know few letters
    try:
        from trainingjobs.cli.app import app  # noqa: PLC0415  the next lines say what is missing

        app.main(prog_name=program(sys.argv[0]))
    except ModuleNotFoundError as error:
        if error.name not in _NEEDED:
            raise
        sys.exit(f"error: {error.name} is not installed: pip install 'trainingjobs[cli]'")


def program(path: str) -> str:
    """What people type: `kubectl tj` for the plugin, which kubectl finds by its file's name."""
    name = Path(path).stem if path.endswith(".exe") else Path(path).name
    if name.startswith(_PREFIX):
        return f"kubectl {name.removeprefix(_PREFIX)}"
    return "trainingjob" if name.endswith(".py") else name
