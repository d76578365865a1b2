#!/usr/bin/env python3
# ruff: noqa: EXE001  it is made executable in the pods
"""One of the programs in the pods: which one it is, its name says."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from _trainingjob_launch.main import main  # noqa: E402  (it lies beside this file in the pods)

if __name__ == "__main__":
    sys.exit(main(os.path.basename(__file__), HERE, sys.argv[1:]))
