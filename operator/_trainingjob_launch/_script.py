#!/bin/sh
"""exec" python3 -I -S "$0" "$@"

One of the programs in the pods: which one it is, its name says. The first line is one for the shell
as well: no module, variable or sitecustomize of the user's has a part in our programs, and more
than a name in the line above it is more than every `env` takes.
"""
# ruff: noqa: D415, EXE001, EXE003

import os
import sys

_OWN = os.path.dirname(os.path.abspath(__file__))
HERE = os.path.dirname(_OWN) if os.path.basename(_OWN) == "bin" else _OWN
sys.path.insert(0, HERE)

from _trainingjob_launch.main import main  # noqa: E402  (it lies beside this file in the pods)

if __name__ == "__main__":
    sys.exit(main(os.path.basename(__file__), HERE, sys.argv[1:]))
