"""The benchmark's own hands: a thin client that sends much at once and reads watches."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, Self

import aiohttp

Json = dict[str, Any]
Request = tuple[str, str, Json | None]
"""The method, the path and the body."""

IN_FLIGHT: Final = 50
_LINE: Final = 2**24
_KINDS: Final = {"PATCH": "application/merge-patch+json"}
_CHEAP: Final = {
    "Content-Type": "application/json",
    "Accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
}
_FINE: Final = frozenset({404, 409})
"""What is gone already, and what is there already, is as it should be."""


class Client:
    """One API server, as one of its users."""

    def __init__(self, url: str, ca: Path, token: str) -> None:
        tls = ssl.create_default_context(cafile=str(ca))
        self._url = url
        self._http = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=IN_FLIGHT * 2, ssl=tls),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=10),
            headers={"Authorization": f"Bearer {token}", "Accept": "application/json"},
            read_bufsize=_LINE,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.close()

    async def send(self, method: str, path: str, body: Json | bytes | None = None) -> Json:
        """The answer.

        Raises:
            RuntimeError: when the server refuses, with its words.
        """
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        headers = {"Content-Type": _KINDS.get(method, "application/json")}
        async with self._http.request(
            method, self._url + path, data=data, headers=headers
        ) as answer:
            raw = await answer.read()
            if not answer.ok and answer.status not in _FINE:
                raise RuntimeError(f"{method} {path}: {answer.status} {raw[:500].decode()}")
            found: Json = json.loads(raw) if answer.ok else {}
            return found

    async def post(self, path: str, body: bytes) -> None:
        """Make something, as cheaply as it can be made: nothing of the answer is looked at.

        Raises:
            RuntimeError: when the server refuses.
        """
        async with self._http.post(self._url + path, data=body, headers=_CHEAP) as answer:
            raw = await answer.read()
            if not answer.ok:
                raise RuntimeError(f"POST {path}: {answer.status} {raw[:500].decode()}")

    async def all(self, requests: Iterable[Request], in_flight: int = IN_FLIGHT) -> None:
        """Send all of these, so many at a time."""
        queue = iter(requests)

        async def work() -> None:
            for method, path, body in queue:
                await self.send(method, path, body)

        async with asyncio.TaskGroup() as group:
            for _ in range(in_flight):
                group.create_task(work())

    async def items(self, path: str) -> Sequence[Json]:
        """A whole list."""
        found: list[Json] = (await self.send("GET", path)).get("items") or []
        return found

    async def watch(self, path: str) -> AsyncIterator[Json]:
        """All events from the beginning, until cancelled; a watch that is cut goes on.

        Raises:
            RuntimeError: when the server has no more of it: then something was missed.
        """
        query = {"watch": "1"}
        while True:
            try:
                async with self._http.get(self._url + path, params=query) as answer:
                    answer.raise_for_status()
                    async for line in answer.content:
                        event = json.loads(line)
                        if event["type"] == "ERROR":
                            raise RuntimeError(f"watch {path}: {event['object']}")
                        query["resourceVersion"] = event["object"]["metadata"]["resourceVersion"]
                        yield event
            except (aiohttp.ClientError, ValueError):  # cut, also in the middle of a line
                await asyncio.sleep(0.2)
