"""Names that people ask for, looked at before they become a part of a path.

An empty one would mean the whole collection, and `..` or `?` another request altogether.
"""

import re

from trainingjobs.client.errors import ClientError

_NAME = re.compile(r"[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?")
_NAMESPACE = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")


def job(name: str) -> str:
    """The name, where a job can have it.

    Raises:
        ClientError: where none can: nothing is asked of the cluster.
    """
    if not _NAME.fullmatch(name):
        raise ClientError(f"{name!r} is no job's name: small letters, digits, '-' and '.'")
    return name


def namespace(name: str) -> str:
    """The same of a namespace."""
    if not _NAMESPACE.fullmatch(name):
        raise ClientError(f"{name!r} is no namespace: small letters, digits and '-'")
    return name
