"""A thin client of the Kubernetes API: JSON in, JSON out.

Typed clients spend most of a controller's time and memory on turning pods into objects
of which three fields are read, so this one leaves them as they are. Everything that the
API server refuses becomes an `ApiError` with the server's words.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any, Self

import aiohttp
import orjson

from trainingjobs import __version__
from trainingjobs.cluster import fence, paths
from trainingjobs.cluster.connection import Connection
from trainingjobs.cluster.errors import ApiError, NotLeadingError, gone, refusal

MERGE_PATCH = "application/merge-patch+json"
_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
"""What is asked for; a server that cannot cut an answer down sends it whole."""
PAGE = 200
UNREACHABLE = 0
_TRIES = 4
_LONGEST_WAIT = 10.0
_UNAUTHORIZED = 401
_TOO_MANY = 429
_SERVER_ERRORS = 500
_REPEATABLE = frozenset({"GET", "PUT", "PATCH", "DELETE"})
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}

Json = dict[str, Any]
Options = dict[str, Mapping[str, str]]
OnAnswer = Callable[[str, str, int], None]


class Api:
    """One API server and a bounded pool of connections to it."""

    def __init__(
        self,
        connection: Connection,
        *,
        connections: int = 64,
        timeout: float = 30.0,
        instance: str = "",
    ) -> None:
        self._connection = connection
        self._seconds = timeout
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=connections, ssl=connection.tls),
            timeout=aiohttp.ClientTimeout(total=timeout, sock_connect=10.0),
            headers={
                "Accept": "application/json",
                "User-Agent": f"trainingjob-operator/{__version__} {instance}".rstrip(),
            },
        )
        self.may_write: Callable[[], bool] = lambda: True
        """Asked before each request that is not a GET, and once more as its body is sent."""
        self.on_answer: OnAnswer = lambda _verb, _resource, _code: None
        """Told the verb, resource and status code of each answer; 0 where there was none."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Json | None = None,
        metadata_only: bool = False,
    ) -> Json:
        """The API server's answer to one request, or only the metadata of what it tells of.

        An answer that says when to come back is obeyed a few times. A create is only sent
        again after 429, which the API server says before it does anything.

        Raises:
            ApiError: when the API server refuses or cannot be reached.
            NotLeadingError: when it would write, and this operator may not.
        """
        options: Options = {"params": query or {}}
        options["headers"] = {"Accept": _METADATA} if metadata_only else {}
        raw = await self._answer(method, path, options, body)
        try:
            return _decoded(raw)
        except ValueError as error:
            raise ApiError(UNREACHABLE, "Unreachable", self._words(error)) from error

    async def text(self, path: str, query: Mapping[str, str]) -> str:
        """What the API server tells as plain text, such as a log: the query has to bound it.

        Raises:
            ApiError: when the API server refuses or cannot be reached.
        """
        options: Options = {"params": query, "headers": {"Accept": "*/*"}}
        return (await self._answer("GET", path, options, None)).decode(errors="replace")

    async def _answer(self, method: str, path: str, options: Options, body: Json | None) -> bytes:
        """What comes back, after as many tries as that is worth."""
        for left in reversed(range(_TRIES)):
            try:
                return await self._once(method, path, options, body)
            except ApiError as error:
                if not left or not _worth_repeating(method, error):
                    raise
                if error.status == _UNAUTHORIZED:
                    self._connection.refused()
                await asyncio.sleep(min(error.retry_after or 0.0, _LONGEST_WAIT))
        raise AssertionError  # the last try returns or raises

    async def pages(
        self, path: str, query: Mapping[str, str] | None = None, limit: int = PAGE
    ) -> AsyncGenerator[Json]:
        """A list, page by page; all pages are of the first one's resourceVersion.

        A list that takes so long that its continuation expires starts again in one piece:
        so the one who collects items must take the last page's resourceVersion and expect
        to see an item twice.
        """
        wanted = {**(query or {}), "limit": str(limit)}
        page = await self.request("GET", path, query=wanted)
        while token := page["metadata"].get("continue"):
            # the next one is made there while this one is taken in here
            following = asyncio.create_task(self._page(path, query or {}, limit, token))
            try:
                yield page
                page = await following
            finally:
                following.cancel()
        yield page

    async def _page(self, path: str, query: Mapping[str, str], limit: int, token: str) -> Json:
        """The page behind another; everything in one piece where its time is over."""
        wanted = {**query, "limit": str(limit), "continue": token}
        try:
            return await self.request("GET", path, query=wanted)
        except ApiError as error:
            if not gone(error):
                raise
            return await self.request("GET", path, query={**query, "limit": "0"})

    async def _once(self, method: str, path: str, options: Options, body: Json | None) -> bytes:
        writes = method != "GET"
        if writes and not self.may_write():
            raise NotLeadingError
        data = None if body is None else fence.Body(_encoded(body), self.may_write)
        kind = MERGE_PATCH if method == "PATCH" else "application/json"
        code = UNREACHABLE
        try:
            headers = {**self._connection.headers(), "Content-Type": kind, **options["headers"]}
            async with self._session.request(
                method,
                self._connection.server.rstrip("/") + path,
                params=options["params"],
                data=data,
                headers=headers,
                proxy=self._connection.proxy,
            ) as response:
                code = response.status
                raw = await response.read()
                if not response.ok:
                    raise refusal(code, raw, response.headers.get("Retry-After"))
                return raw
        except (aiohttp.ClientError, OSError, ValueError) as error:
            if writes and not self.may_write():
                raise NotLeadingError from error
            raise ApiError(UNREACHABLE, "Unreachable", self._words(error)) from error
        finally:
            self.on_answer(_verb(method, path), paths.target(path).resource, code)

    def _words(self, error: Exception) -> str:
        if isinstance(error, TimeoutError) and not str(error):
            return f"no answer within {self._seconds:g} s"
        return f"{type(error).__name__}: {error}".rstrip(": ")


def _decoded(raw: bytes) -> Json:
    """The answer; what lies deeper than orjson goes is nobody's to keep a list from being read.

    Raises:
        ValueError: when it is none.
    """
    try:
        answer: Json = orjson.loads(raw)
    except orjson.JSONDecodeError:
        try:
            answer = json.loads(raw)
        except RecursionError as error:
            raise ValueError("it is nested too deeply to be read") from error
    return answer


def _encoded(body: Json) -> bytes:
    return json.dumps(body, separators=(",", ":")).encode()


def _verb(method: str, path: str) -> str:
    if method == "GET":
        return "get" if paths.target(path).named else "list"
    return _VERBS[method]


def _worth_repeating(method: str, error: ApiError) -> bool:
    if error.status == _UNAUTHORIZED:
        return True
    if error.retry_after is None:
        return False
    if error.status == _TOO_MANY:
        return True
    return error.status >= _SERVER_ERRORS and method in _REPEATABLE
