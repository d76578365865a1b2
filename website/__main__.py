"""`python -m website --write ROOT` writes the reference pages, `--check ROOT` names stale ones."""

import argparse
import sys
from pathlib import Path

from website import pages


def main() -> int:
    """Write or check; the exit status is 1 when a checked page is out of date."""
    parser = argparse.ArgumentParser(prog="python -m website", description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", metavar="ROOT", type=Path, help="write the pages")
    what.add_argument("--check", metavar="ROOT", type=Path, help="name the pages that are outdated")
    chosen = parser.parse_args()
    if chosen.write:
        pages.write_all(chosen.write)
        return 0
    outdated = pages.outdated(chosen.check)
    for path in outdated:
        sys.stderr.write(f"{path} is outdated: run make generate\n")
    return 1 if outdated else 0


if __name__ == "__main__":
    sys.exit(main())
