"""Images of single frameworks, for the tests that run them: nobody builds them unasked."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def load(*names: str) -> None:
    """Build these images, if their inputs have changed, and have every node take them."""
    argv = [sys.executable, "-m", "localcluster.images", "load", *names]
    subprocess.run(argv, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
