"""What a cluster has written down of a job and its pods, for somebody to read: logs and events.

Nothing is decided by these, and nothing of them is kept.
"""

from contextlib import aclosing
from typing import Any

from trainingjobs.cluster import paths
from trainingjobs.cluster.api import Api
from trainingjobs.model.text import cut

LINES = (500, 20, 1)
"""Of so many last lines the first are told where they are too long: then fewer are asked for."""
MOST_BYTES = 1_000_000
"""Of a log that are read at a time."""
KEPT = 131_072
"""Characters of a log that are told: its last."""
EVENTS = 50
_WORD = 100
_MOST_EVENTS = 1_000

Json = dict[str, Any]


class Records:
    """Reads them from the API server."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def log(self, namespace: str, pod: str, container: str) -> tuple[str, bool]:
        """The last lines of a container, and whether there was more of them than is told.

        Raises:
            ApiError: when the API server, or the kubelet behind it, does not tell.
        """
        query = {"container": container, "limitBytes": str(MOST_BYTES)}
        for lines in LINES:
            text = await self._api.text(
                paths.log(namespace, pod), {**query, "tailLines": str(lines)}
            )
            if len(text.encode()) < MOST_BYTES:
                break
        if len(text) > KEPT:
            return text[-KEPT:].partition("\n")[2] or text[-KEPT:], True
        return text, text.count("\n") >= lines

    async def events(self, namespace: str, uid: str) -> list[Json]:
        """What was last told of one object, by its uid; the newest first.

        Raises:
            ApiError: when the API server does not tell.
        """
        query: dict[str, str] = {"fieldSelector": f"involvedObject.uid={uid}"}
        found: list[Json] = []
        async with aclosing(self._api.pages(paths.events(namespace), query)) as pages:
            async for page in pages:
                found += [_event(it) for it in page["items"]]
                if len(found) >= _MOST_EVENTS:
                    break
        return sorted(found, key=lambda it: it["last"], reverse=True)[:EVENTS]


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
