"""The client against a real HTTP server that answers what the test wants."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from trainingjobs.cluster.api import Api
from trainingjobs.cluster.connection import TOKEN_SECONDS, Connection, TokenFile
from trainingjobs.cluster.errors import ApiError, NotLeadingError
from trainingjobs.cluster.paths import target

PODS = "/api/v1/namespaces/lab/pods"


class Server:
    """Answers in turn; remembers what it was asked."""

    def __init__(self) -> None:
        self.answers: list[web.Response] = []
        self.asked: list[tuple[str, str, dict[str, str], str, str]] = []
        self.accepted: list[str] = []
        self.counted: list[tuple[str, str, int]] = []
        self.url = ""

    async def answer(self, request: web.Request) -> web.Response:
        """The next answer."""
        query, kind = dict(request.query), request.headers.get("Content-Type", "")
        known = request.headers.get("Authorization", "")
        self.accepted.append(request.headers.get("Accept", ""))
        self.asked.append((request.method, request.path, query, kind, known))
        return self.answers.pop(0) if self.answers else ok({})

    def api(self, *, timeout: float = 5.0, **facts: Any) -> Api:
        """A client of it."""
        api = Api(Connection(server=self.url, **facts), timeout=timeout)
        api.on_answer = lambda *count: self.counted.append(count)
        return api


def ok(body: dict[str, Any]) -> web.Response:
    """What a server says when all is well."""
    return web.json_response(body)


def refused(status: int, retry_after: str | None = "0", **body: Any) -> web.Response:
    """What a server says when it does not want to."""
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    return web.json_response(body, status=status, headers=headers)


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    here = Server()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", here.answer)
    async with TestServer(app) as running:
        here.url = str(running.make_url("/"))
        yield here


async def test_a_token_that_cannot_be_read_is_a_request_that_fails(server: Server) -> None:
    def unreadable() -> str:
        raise PermissionError("the token cannot be read")

    async with server.api(authorization=unreadable) as api:
        with pytest.raises(ApiError, match="the token cannot be read") as caught:
            await api.request("GET", PODS)
    assert caught.value.status == 0
    assert not server.asked
    assert server.counted == [("list", "pods", 0)]


async def test_an_answer_is_plain_json(server: Server) -> None:
    server.answers = [ok({"kind": "Pod"})]
    async with server.api(authorization=lambda: "Bearer secret") as api:
        found = await api.request("POST", PODS, query={"dryRun": "All"}, body={"kind": "Pod"})
    assert found == {"kind": "Pod"}
    assert server.asked == [
        ("POST", PODS, {"dryRun": "All"}, "application/json", "Bearer secret"),
    ]
    assert server.counted == [("create", "pods", 200)]


async def test_a_patch_is_a_merge_patch(server: Server) -> None:
    async with server.api() as api:
        await api.request("PATCH", f"{PODS}/a", body={})
    assert server.asked[0][3] == "application/merge-patch+json"


async def test_what_is_nested_deeply_keeps_nobody_from_reading_a_list(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anybody may put that into a pod template; the API server takes ten thousand levels."""
    deep = '{"items": ' + "[" * 1_100 + "]" * 1_100 + "}"
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        server.answers.append(web.Response(text=deep))
        async with server.api() as api:
            assert (await api.request("GET", PODS))["items"]
    finally:
        sys.setrecursionlimit(limit)
    monkeypatch.setattr(json, "loads", _too_deep)
    server.answers.append(web.Response(text=deep))
    async with server.api() as api:
        with pytest.raises(ApiError, match="nested too deeply"):
            await api.request("GET", PODS)


def _too_deep(_: bytes) -> None:
    raise RecursionError


async def test_only_the_metadata_of_an_answer_can_be_asked_for(server: Server) -> None:
    async with server.api() as api:
        await api.request("POST", PODS, body={}, metadata_only=True)
        await api.request("POST", PODS, body={})
    cut, whole = server.accepted
    assert cut.startswith("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
    assert whole == "application/json"


@pytest.mark.parametrize(
    ("method", "status", "retry_after", "tries"),
    [
        ("GET", 429, "0", 4),
        ("GET", 503, "0", 4),
        ("PATCH", 503, "0", 4),
        ("POST", 429, "0", 4),
        ("POST", 503, "0", 1),
        ("GET", 503, None, 1),
        ("DELETE", 404, None, 1),
        ("POST", 403, "0", 1),
    ],
)
async def test_what_is_tried_again(
    server: Server, method: str, status: int, retry_after: str | None, tries: int
) -> None:
    server.answers = [refused(status, retry_after, message="later") for _ in range(10)]
    async with server.api() as api:
        with pytest.raises(ApiError, match="later") as error:
            await api.request(method, PODS, body={})
    assert error.value.status == status
    assert len(server.asked) == tries


async def test_a_try_that_succeeds_ends_the_trying(server: Server) -> None:
    server.answers = [refused(429), ok({"done": True})]
    async with server.api() as api:
        assert await api.request("GET", PODS) == {"done": True}
    assert [count[2] for count in server.counted] == [429, 200]


async def test_a_token_that_was_replaced_is_read_again(server: Server, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("old\n")
    token = TokenFile(file)
    server.answers = [ok({}), refused(401, None), ok({})]
    async with server.api(authorization=token) as api:
        await api.request("GET", PODS)
        file.write_text("new\n")
        await api.request("GET", PODS)
    assert [asked[4] for asked in server.asked] == ["Bearer old", "Bearer old", "Bearer new"]


def test_a_token_is_believed_for_a_while(tmp_path: Path) -> None:
    now = 0.0
    file = tmp_path / "token"
    file.write_text("old")
    token = TokenFile(file, lambda: now)
    assert token() == "Bearer old"
    file.write_text("new")
    assert token() == "Bearer old"
    now = TOKEN_SECONDS
    assert token() == "Bearer new"


async def test_nothing_that_is_said_of_a_connection_is_secret(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("secret")
    facts = Connection(server="http://127.0.0.1:1", authorization=TokenFile(file), proxy=None)
    api = Api(facts, timeout=5.0)
    async with api:
        with pytest.raises(ApiError) as error:
            await api.request("GET", PODS)
    assert error.value.status == 0
    assert "secret" not in f"{error.value} {error.value.__cause__} {facts!r}"


async def test_an_answer_that_is_no_json_is_no_answer(server: Server) -> None:
    server.answers = [web.Response(text="<html>")]
    async with server.api() as api:
        with pytest.raises(ApiError, match="Unreachable"):
            await api.request("GET", PODS)


@asynccontextmanager
async def mute(*said: bytes) -> AsyncIterator[Server]:
    """A server that takes every connection and says so much and no more."""
    over = asyncio.Event()

    async def hold(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.writelines(said)
        await over.wait()
        writer.close()

    here = Server()
    async with await asyncio.start_server(hold, "127.0.0.1", 0) as running:
        host, port = running.sockets[0].getsockname()
        here.url = f"http://{host}:{port}"
        yield here
        over.set()


@pytest.mark.parametrize("method", ["GET", "POST", "PATCH", "PUT", "DELETE"])
@pytest.mark.parametrize(
    "said",
    [(), (b"HTTP/1.1 200 OK\r\n",), (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", b"{")],
    ids=["nothing", "half a head", "half a body"],
)
async def test_a_request_that_hangs_fails_in_time(method: str, said: tuple[bytes, ...]) -> None:
    async with mute(*said) as server, server.api(timeout=0.1) as api:
        with pytest.raises(ApiError, match=r"no answer within 0\.1 s"):
            await api.request(method, PODS)
        ((_, resource, code),) = server.counted
    assert (resource, code in {0, 200}) == ("pods", True)


def page(names: str, token: str = "") -> web.Response:
    """One page of a list."""
    return ok({"metadata": {"continue": token}, "items": [*names]})


async def collect(api: Api) -> list[str]:
    """All items of all pages."""
    return [item async for page in api.pages(PODS, {"a": "b"}) for item in page["items"]]


async def test_pages_follow_each_other(server: Server) -> None:
    server.answers = [page("ab", "next"), page("c")]
    async with server.api() as api:
        assert await collect(api) == ["a", "b", "c"]
    assert server.asked[1][2] == {"a": "b", "limit": "200", "continue": "next"}


async def test_a_list_that_took_too_long_starts_again_in_one_piece(server: Server) -> None:
    server.answers = [page("ab", "next"), refused(410, None), page("abc")]
    async with server.api() as api:
        assert await collect(api) == ["a", "b", "a", "b", "c"]
    assert server.asked[2][2] == {"a": "b", "limit": "0"}


async def test_the_next_page_is_on_its_way_while_one_is_read(server: Server) -> None:
    server.answers = [page("a", "next"), page("b", "more"), page("c")]
    async with server.api() as api:
        answered = asyncio.Semaphore(0)
        api.on_answer = lambda *_: answered.release()
        pages = api.pages(PODS)
        assert (await anext(pages))["items"] == ["a"]
        for _ in range(2):
            await asyncio.wait_for(answered.acquire(), 10)
        assert len(server.asked) == 2, "one ahead, and no more"
        await pages.aclose()
        assert len(server.asked) == 2


@pytest.mark.parametrize(
    ("path", "resource", "named"),
    [
        (PODS, "pods", False),
        (f"{PODS}/a", "pods", True),
        ("/apis/trainingjob.dev/v1/trainingjobs", "trainingjobs", False),
        ("/apis/trainingjob.dev/v1/namespaces/lab/trainingjobs/a", "trainingjobs", True),
        (
            "/apis/trainingjob.dev/v1/namespaces/lab/trainingjobs/a/status",
            "trainingjobs/status",
            True,
        ),
        ("/apis/trainingjob.dev/v1", "discovery", False),
    ],
)
def test_what_a_path_counts_as(path: str, resource: str, named: bool) -> None:
    assert target(path) == (resource, named)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_who_may_not_write_sends_nothing(server: Server, method: str) -> None:
    async with server.api() as api:
        api.may_write = lambda: False
        assert await api.request("GET", PODS) == {}
        with pytest.raises(NotLeadingError):
            await api.request(method, PODS, body={})
    assert [asked[0] for asked in server.asked] == ["GET"]


async def test_who_loses_the_lead_while_it_waits_for_a_connection_sends_nothing(
    server: Server,
) -> None:
    answers = iter([True])
    async with server.api() as api:
        api.may_write = lambda: next(answers, False)
        with pytest.raises(NotLeadingError):
            await api.request("POST", PODS, body={"kind": "Pod"})
    assert not server.asked
