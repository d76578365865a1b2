"""How large a job may be; apart from the models, since the command line's help needs no more."""

MAX_INSTANCES = 10_000
MAX_RANKS = 65_536
"""A look at all ranks of a job keeps the one core of the operator for half a second then."""
