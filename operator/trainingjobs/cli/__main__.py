"""`python -m trainingjobs.cli` is the same command line."""

from trainingjobs.cli import main

main()
