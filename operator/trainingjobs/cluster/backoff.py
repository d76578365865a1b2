"""How long to wait before the next try of what failed.

Doubling keeps a broken API server from being hit by everybody at once, and the jitter
keeps those who failed together from coming back together.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

MAX_DOUBLINGS = 30


@dataclass(frozen=True, slots=True)
class Backoff:
    """Delays that double from the first to the longest, each shortened by chance."""

    first: float = 1.0
    longest: float = 60.0
    chance: Callable[[], float] = field(default=random.random)

    def delay(self, failures: int) -> float:
        """Seconds to wait after this many failures in a row, of which there is at least one."""
        full = min(self.longest, self.first * (1 << min(failures - 1, MAX_DOUBLINGS)))
        return full * (1 - self.chance() / 4)
