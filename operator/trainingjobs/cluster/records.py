"""What a cluster has written down of a job and its pods, for somebody to read: logs and events.

Nothing is decided by these, and nothing of them is kept.
"""

from typing import Any

from trainingjobs.cluster import paths
from trainingjobs.cluster.api import Api
from trainingjobs.model.text import cut

LINES = 500
MOST_BYTES = 1_000_000
"""Of a log that are read; a kubelet counts from the first of its last lines on."""
KEPT = 131_072
"""Characters of a log that are told: its last."""
EVENTS = 50
_WORD = 100
_PAGES = 5

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
        query = {"container": container, "tailLines": str(LINES), "limitBytes": str(MOST_BYTES)}
        text = await self._api.text(paths.log(namespace, pod), query)
        more = len(text) > KEPT or len(text.encode()) >= MOST_BYTES
        return (text[-KEPT:].partition("\n")[2] or text[-KEPT:] if more else text), more

    async def events(self, namespace: str, uid: str) -> list[Json]:
        """What was last told of one object, by its uid; the newest first.

        Raises:
            ApiError: when the API server does not tell.
        """
        query, found, pages = {"fieldSelector": f"involvedObject.uid={uid}"}, [], 0
        async for page in self._api.pages(paths.events(namespace), query):
            found += [_event(it) for it in page["items"]]
            pages += 1
            if pages == _PAGES:
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
