#!/usr/bin/env python3
# ruff: noqa: EXE001  it is made executable in the pods
"""One of the programs in the pods: which one it is, its name says."""

import os
import sys

_PATH = {os.path.abspath(it) for it in os.environ.get("PYTHONPATH", "").split(os.pathsep)}
# the user's modules come last here: one of them may have the name of one that we need
sys.path.sort(key=lambda it: os.path.abspath(it) in _PATH)

_OWN = os.path.dirname(os.path.abspath(__file__))
HERE = os.path.dirname(_OWN) if os.path.basename(_OWN) == "bin" else _OWN
sys.path.insert(0, HERE)

from _trainingjob_launch.main import main  # noqa: E402  (it lies beside this file in the pods)

if __name__ == "__main__":
    sys.exit(main(os.path.basename(__file__), HERE, sys.argv[1:]))
