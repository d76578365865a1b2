"""Watches that fail begin anew, and whoever has to know is told.

kopf ends the whole operator at the first thing in a watch that it does not expect: half a
line from a server that goes down, an error of etcd, a version that has expired before the
watch began. There is no setting for that, so the functions that all its watches come
from are wrapped here. A watch that begins anew lists what is there and does not tell what
vanished meanwhile: somebody else has to look for that. And as the request of every watch ends
after some minutes, one that has made none for long is dead, however quiet the cluster is.
"""

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Callable
from typing import Any

from kopf._cogs.clients import fetching, watching

_LOG = logging.getLogger(__name__)
_PAUSE_SECONDS = 1.0
LONGEST_SECONDS = 330.0
"""After so long we end a watch's request ourselves, where the API server has not."""
_KOPFS = watching.continuous_watch
_KOPFS_REQUEST = watching.watch_objs
_KOPFS_LIST = fetching.fetch_objs

Lapsed = Callable[[str], None]
Begins = Callable[[str, float], None]
Takes = Callable[[str, Any], bool]
Listed = Callable[[str, str | None], str | None]


def install(lapsed: Lapsed, begins: Begins, takes: Takes = lambda _plural, _event: False) -> None:
    """Let all of kopf's watches endure.

    `lapsed` is told the plural of what was watched by a watch that begins anew, and `begins`
    the name of each watch when it makes a request, with the seconds after which it makes
    another one at the latest. A watch of which all goes well makes request after request
    and never begins anew. An event that `takes` says it has taken in goes no further.
    """
    begun: set[tuple[str, str | None]] = set()

    async def enduring(**options: Any) -> AsyncIterator[Any]:
        what, where = options["resource"].plural, options["namespace"]
        if (what, where) in begun:
            lapsed(what)
        begun.add((what, where))
        begins(_name(**options), LONGEST_SECONDS)
        try:
            async for event in _KOPFS(**options):
                if not takes(what, event):
                    yield event
        except Exception as error:  # noqa: BLE001 - whatever it was, the next watch may do
            _LOG.warning("the watch of %s begins anew, it failed: %s", what, error)
            await asyncio.sleep(_PAUSE_SECONDS * random.uniform(1, 2))  # noqa: S311 - spreads load

    def renewed(**options: Any) -> AsyncIterator[Any]:
        begins(_name(**options), LONGEST_SECONDS)
        return _KOPFS_REQUEST(**options)

    watching.continuous_watch = enduring
    watching.watch_objs = renewed


def go_on(listed: Listed) -> None:
    """Let a watch begin where `listed` says that a list of our own has ended.

    What is in that list is not read a second time.
    """

    async def told(**options: Any) -> AsyncIterator[Any]:
        version = listed(options["resource"].plural, options["namespace"])
        if version is not None:
            yield (), version
            return
        async for page in _KOPFS_LIST(**options):
            yield page

    fetching.fetch_objs = told


def _name(*, resource: Any, namespace: str | None, **_: Any) -> str:
    return f"watch of {resource.plural} in {namespace or 'the cluster'}"
