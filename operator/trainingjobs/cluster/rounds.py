"""Namespace after namespace: one that cannot be listed keeps no other from being listed.

Permissions are given by namespace, and so are mistakes in them. A namespace that refuses us
is logged and left; an API server that does not answer is a failure of the whole round.
"""

import logging
from collections.abc import Awaitable, Callable

from trainingjobs.cluster import errors
from trainingjobs.cluster.errors import ApiError

_LOG = logging.getLogger(__name__)
_REFUSED = {errors.FORBIDDEN, errors.NOT_FOUND}


async def through(
    namespaces: tuple[str, ...], visit: Callable[[str | None], Awaitable[None]]
) -> None:
    """Visit these namespaces one after the other; without any, the cluster as a whole.

    Raises:
        ApiError: when one fails otherwise than by refusing us, or when all refuse us.
    """
    failed: list[ApiError] = []
    places = namespaces or (None,)
    for namespace in places:
        try:
            await visit(namespace)
        except ApiError as error:
            _LOG.warning("%s could not be listed: %s", namespace or "the cluster", error)
            failed.append(error)
    lasting = [error for error in failed if error.status not in _REFUSED]
    if lasting or len(failed) == len(places):
        raise (lasting or failed)[0]
