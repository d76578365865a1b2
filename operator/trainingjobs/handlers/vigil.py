"""Says what changes in the operator's health, and ends it when only a restart mends it.

Whoever ends it otherwise, as the kubelet does, says nothing in its log: so what is wrong stands
there before.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from trainingjobs.handlers.health import Health

CHECK_SECONDS = 5.0
LONG_SECONDS = 5.0
"""What takes longer than this at the start is told."""
_LOG = logging.getLogger(__name__)


class Vigil:
    """Looks at the operator's health from time to time."""

    def __init__(self, health: Health, end: Callable[[], None]) -> None:
        self._health = health
        self._end = end
        self._told: set[str] = set()
        self.hopeless = False
        """True when it had to end the operator."""

    async def keep(self) -> None:
        """Look again and again, until there is no hope."""
        while not self.hopeless:
            await asyncio.sleep(CHECK_SECONDS)
            self.look()

    def look(self) -> None:
        """Tell what is wrong once for each thing that is, and when nothing is any more."""
        found = self._health.complaints()
        of = {words.partition(":")[0] for words in found}
        if of - self._told:
            _LOG.warning("not well: %s", "; ".join(found))
        elif self._told and not of:
            _LOG.warning("well again")
        self._told = of
        lasting = self._health.hopeless()
        if lasting:
            _LOG.critical("ending, to be started anew: %s", "; ".join(lasting))
            self.hopeless = True
            self._end()

    def farewell(self) -> None:
        """Tell that the operator was told to stop, and what is wrong with it then."""
        found = self._health.complaints()
        if found:
            _LOG.warning("stopping, and not well: %s", "; ".join(found))
        else:
            _LOG.info("stopping")


def started(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """A task whose failure is told at once: nobody waits for it."""
    task = asyncio.create_task(work)
    task.add_done_callback(_mourn)
    return task


def _mourn(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        _LOG.critical("a background task has failed", exc_info=task.exception())


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Say once what is waited for, where that takes long."""
    loop = asyncio.get_running_loop()
    timer = loop.call_later(LONG_SECONDS, _LOG.warning, "still waiting for %s", what)
    try:
        yield
    finally:
        timer.cancel()
