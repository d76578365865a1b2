"""The one error that a person sees.

Whatever stops the local cluster is told in one message that says what is wrong
and what to do; a traceback is for mistakes of our own.
"""


class ClusterError(Exception):
    """The local cluster cannot do what was asked; its text says why and what to do."""
