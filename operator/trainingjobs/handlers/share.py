"""How long a look kept the one core that all jobs share.

A look is mostly waiting for the API server, and meanwhile the others work. What they are
kept from working by are the stretches between two waits, and only those are measured.
"""

import time
from collections.abc import Awaitable, Generator
from functools import partial
from typing import Any, Generic, TypeVar

Result = TypeVar("Result")


class Metered(Generic[Result]):
    """Some work, and for how many seconds it has kept the core."""

    def __init__(self, work: Awaitable[Result]) -> None:
        self.seconds = 0.0
        self._work = work

    def __await__(self) -> Generator[Any, Any, Result]:
        steps = self._work.__await__()
        step = partial(next, steps)
        while True:
            started = time.perf_counter()
            try:
                waits_for = step()
            except StopIteration as end:
                result: Result = end.value
                return result
            finally:
                self.seconds += time.perf_counter() - started
            try:
                step = partial(steps.send, (yield waits_for))
            except BaseException as error:  # noqa: BLE001 - it is the work's to catch
                step = partial(steps.throw, error)
