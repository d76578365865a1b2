"""How many processes report these days, counted as they come and go.

All are asked to share a rate, so each answer needs the number; to count ten thousand entries
for it would cost more than the report.
"""

import heapq
from datetime import datetime

Voice = tuple[str, str, str]
"""Job, pod and process."""


class Voices:
    """Who speaks, and until when it counts without saying more."""

    def __init__(self) -> None:
        self._until: dict[Voice, datetime] = {}
        self._ends: list[tuple[datetime, Voice]] = []

    def __contains__(self, who: Voice) -> bool:
        return who in self._until

    def hear(self, who: Voice, until: datetime) -> None:
        """It has spoken."""
        self._until[who] = until
        heapq.heappush(self._ends, (until, who))

    def drop(self, who: Voice) -> None:
        """It will speak no more."""
        self._until.pop(who, None)

    def count(self, now: datetime) -> int:
        """How many speak."""
        while self._ends and self._ends[0][0] < now:
            until, who = heapq.heappop(self._ends)
            if self._until.get(who) == until:
                del self._until[who]
        return len(self._until)
