"""`python -m trainingjobs.schema` prints the definition; `--write ROOT` writes the files."""

import argparse
import sys
from pathlib import Path

from trainingjobs.schema import files


def main() -> int:
    """Print, write or check; the exit status is 1 when a checked file is out of date."""
    parser = argparse.ArgumentParser(prog="python -m trainingjobs.schema", description=__doc__)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--write", metavar="ROOT", type=Path, help="write the generated files")
    what.add_argument("--check", metavar="ROOT", type=Path, help="name the files that are outdated")
    chosen = parser.parse_args()
    if chosen.write:
        files.write_all(chosen.write)
        return 0
    if chosen.check:
        return _report(files.check(chosen.check))
    sys.stdout.write(files.plain())
    return 0


def _report(outdated: tuple[Path, ...]) -> int:
    for path in outdated:
        sys.stderr.write(f"{path} is outdated: run make generate\n")
    return 1 if outdated else 0


if __name__ == "__main__":
    sys.exit(main())
