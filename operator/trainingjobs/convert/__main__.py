"""`python -m trainingjobs.convert FILE…`: other operators' jobs become TrainingJobs.

The manifests go to the standard output, ready for `kubectl apply -f -`, and what could not be
carried over is said on the standard error. Documents that are no training jobs pass unchanged.
"""

import argparse
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from trainingjobs.convert import stream

_BAD_USE = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Convert; 1 when a document could not be, 2 when a file could not be read."""
    parser = argparse.ArgumentParser(prog="python -m trainingjobs.convert", description=__doc__)
    parser.add_argument("file", nargs="+", help="a manifest, or - for the standard input")
    names = parser.parse_args(arguments).file
    texts: list[tuple[str, str]] = []
    for name in names:
        try:
            texts.append((name, _read(name)))
        except (OSError, UnicodeDecodeError) as error:
            sys.stderr.write(f"{name}: {getattr(error, 'strerror', None) or error}\n")
            return _BAD_USE
    done = stream.convert(texts)
    lines = (line if line.isprintable() else repr(line) for line in done.words)
    sys.stderr.write("".join(f"{line}\n" for line in lines))
    try:
        sys.stdout.write(done.manifests)
        sys.stdout.flush()
    except BrokenPipeError:
        with suppress(BrokenPipeError):
            sys.stdout.close()
        return 1
    return 1 if done.refused else 0


def _read(name: str) -> str:
    """One character more than may be, so that too much is seen as such."""
    limit = stream.MAX_CHARACTERS + 1
    if name == "-":
        if sys.stdin is None:
            raise OSError("the standard input is closed")
        return sys.stdin.read(limit)
    with Path(name).open(encoding="utf-8") as file:
        return file.read(limit)


if __name__ == "__main__":
    sys.exit(main())
