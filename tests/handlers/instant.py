"""An event loop in which waiting takes no time, so that tests of pauses are exact and fast."""

import asyncio
import heapq
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


class InstantLoop(asyncio.SelectorEventLoop):
    """Jumps to the next timer as soon as nothing else is left to do."""

    def __init__(self) -> None:
        self._ahead = 0.0
        super().__init__()

    def time(self) -> float:
        """The loop's time: it stands still between the jumps, however busy the machine is."""
        return self._ahead

    def _run_once(self) -> None:
        waiting: list[Any] = self._scheduled  # type: ignore[attr-defined]
        while waiting and waiting[0].cancelled():  # to jump to one would be to wait for the next
            heapq.heappop(waiting)._scheduled = False  # noqa: SLF001
            self._timer_cancelled_count -= 1
        if waiting and not self._ready:  # type: ignore[attr-defined]
            self._ahead += max(waiting[0].when() - self.time(), 0.0)
        super()._run_once()  # type: ignore[misc]


def run(scenario: Coroutine[Any, Any, Result]) -> Result:
    """What comes of a scenario."""
    with asyncio.Runner(loop_factory=InstantLoop) as runner:
        return runner.run(scenario)
