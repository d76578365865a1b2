"""What a cluster has written down of a job and its pods, for somebody to read: logs and events.

Nothing is decided by these, and nothing of them is kept.
"""

from heapq import nlargest
from typing import Any

from trainingjobs.cluster import paths
from trainingjobs.cluster.api import Api
from trainingjobs.model.text import cut

LINES = (500, 20, 1)
"""So many are told. Of lines that are too long the first would come: then fewer are asked for."""
_LONG_LINE = 16_000
"""Where lines are longer than a runtime writes in one piece, a kubelet counts them otherwise."""
MOST_BYTES = 1_000_000
"""Of a log that are read at a time."""
KEPT = 131_072
"""Characters of a log that are told: its last."""
EVENTS = 50
_WORD = 100

Json = dict[str, Any]


class Records:
    """Reads them from the API server."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def log(self, namespace: str, pod: str, container: str) -> tuple[str, bool]:
        """The last lines of a container, or of the only one, and whether there may be more.

        Raises:
            ApiError: when the API server, or the kubelet behind it, does not tell.
        """
        query = {"limitBytes": str(MOST_BYTES)} | ({"container": container} if container else {})
        for lines in LINES:
            # one more than is told, to know whether there is one
            last = {**query, "tailLines": str(lines + 1)}
            text = await self._api.text(paths.log(namespace, pod), last)
            if len(text.encode()) < MOST_BYTES:
                break
        told = "".join(text.splitlines(keepends=True)[-lines:])
        more = len(told) < len(text) or lines != LINES[0] or _has_long_lines(text)
        if len(told) > KEPT:
            return told[-KEPT:].partition("\n")[2] or told[-KEPT:], True
        return told, more

    async def events(self, namespace: str, uid: str) -> list[Json]:
        """What was last told of one object, by its uid; the newest first.

        Raises:
            ApiError: when the API server does not tell.
        """
        query: dict[str, str] = {"fieldSelector": f"involvedObject.uid={uid}"}
        found: list[Json] = []
        # a list begins with the oldest
        async for page in self._api.pages(paths.events(namespace), query):
            found += [_event(it) for it in page["items"]]
            found = nlargest(EVENTS, found, key=lambda it: it["last"])
        return found


def _has_long_lines(text: str) -> bool:
    return any(len(line) >= _LONG_LINE for line in text.splitlines())


def _event(body: Json) -> Json:
    """An event in short; those of newer clients have their time and number elsewhere."""
    series = body.get("series") or {}
    last = series.get("lastObservedTime") or body.get("lastTimestamp") or body.get("eventTime")
    return {
        "type": cut(body.get("type") or "", _WORD),
        "reason": cut(body.get("reason") or "", _WORD),
        "message": cut(body.get("message") or ""),
        "count": series.get("count") or body.get("count") or 1,
        "last": last or body["metadata"].get("creationTimestamp") or "",
    }
