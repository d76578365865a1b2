"""Messages go where anybody could send one, and nowhere into the cluster."""

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from ipaddress import ip_address, ip_network
from typing import Any

import pytest
from aiohttp import web
from yarl import URL

from trainingjobs.cluster import webhook
from trainingjobs.cluster.errors import WebhookError
from trainingjobs.cluster.webhook import Reach, Webhook

HOST = "127.0.0.1"
HERE = Reach(networks=(ip_network("127.0.0.0/8"),), plain=True)
OPEN = Reach()
PRIVATE = [
    "127.0.0.1",
    "127.8.9.10",
    "0.0.0.0",  # noqa: S104  an address that is refused
    "10.96.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "169.254.169.254",
    "198.18.0.1",
    "203.0.113.7",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "fe80::1",
    "fe80::1%eth0",
    "fd00::1",
    "ff02::1",
    "2001:db8::1",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "2002:0a00:0001::1",
    "64:ff9b::a00:1",
    "192.0.2.1",
    "192.88.99.1",
    "198.51.100.1",
    "2001::1",
    "2001:20::1",
    "3fff::1",
    "5f00::1",
    "100::1",
    "::8.8.8.8",
    "2002:7f00:0001::1",
]
NEVER = [
    "0.0.0.0",  # noqa: S104  an address that is refused
    "0.1.2.3",
    "100.100.100.200",
    "168.63.129.16",
    "169.254.169.254",
    "169.254.170.2",
    "192.0.0.1",
    "192.0.0.9",
    "192.0.0.10",
    "192.0.0.192",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "fd00:ec2::254",
    "fe80::a9fe:a9fe",
    "fec0::1",
    "ff02::1",
    "::ffff:168.63.129.16",
    "::ffff:192.0.0.9",
    "2002:a83f:8110::1",
    "64:ff9b::a83f:8110",
    "64:ff9b:1::1",
    "64:ff9b:1::808:808",
]
ALL = Reach(networks=(ip_network("0.0.0.0/0"), ip_network("::/0")))


@pytest.mark.parametrize("address", [*PRIVATE, *NEVER])
def test_no_address_of_the_inside_is_allowed(address: str) -> None:
    assert not OPEN.allows(address)


@pytest.mark.parametrize("address", NEVER)
def test_some_addresses_are_refused_whatever_an_administrator_allows(address: str) -> None:
    assert not ALL.allows(address)
    assert ALL.allows("10.0.0.1")
    assert ALL.allows("::1")


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8"])
def test_addresses_of_the_open_internet_are(address: str) -> None:
    assert OPEN.allows(address)


def test_what_an_administrator_allows_is_allowed_but_for_the_api_server() -> None:
    reach = Reach(networks=(ip_network("10.0.0.0/8"),), never=(ip_address("10.96.0.1"),))
    assert reach.allows("10.1.2.3")
    assert reach.allows("::ffff:10.1.2.3")
    assert not reach.allows("10.96.0.1")
    assert not reach.allows("::ffff:10.96.0.1")
    assert not reach.allows("192.168.0.1")


class Names:
    """A resolver that counts, and says another thing each time."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers, self.asked = list(answers), list[tuple[str, int]]()

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        """The next answer."""
        self.asked.append((host, port))
        return self.answers.pop(0)


@asynccontextmanager
async def a_listener(handler: Any) -> AsyncIterator[int]:
    """What hears messages; its port."""
    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", handler)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, HOST, 0).start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


async def test_a_message_comes_to_the_address_that_was_looked_at() -> None:
    heard: list[Any] = []

    async def hear(request: web.Request) -> web.Response:
        heard.append((request.host, request.path_qs, await request.json()))
        return web.Response(text="ok")

    async with a_listener(hear) as port:
        names = Names([HOST], ["10.0.0.1"])
        sender = Webhook(HERE, names)
        await sender.send(f"http://hooks.example:{port}/a?b=c", {"text": "hello"})
    assert heard == [(f"hooks.example:{port}", "/a?b=c", {"text": "hello"})]
    assert names.asked == [("hooks.example", port)]  # once: a second answer is asked of nobody


@pytest.mark.parametrize("inner", [["10.0.0.1"], ["8.8.8.8", "10.0.0.1"], []])
async def test_a_name_that_leads_inside_is_not_called(inner: Sequence[str]) -> None:
    with pytest.raises(WebhookError, match="not on the open Internet") as told:
        await Webhook(OPEN, Names(inner)).send("https://hooks.example/secret", {})
    assert told.value.forever
    assert "hooks.example" not in str(told.value)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.1", "2130706433", "0x7f000001", "[::1]", "[::ffff:127.0.0.1]"]
)
async def test_ways_to_write_the_loopback_lead_nowhere(host: str) -> None:
    async def never(_: web.Request) -> web.Response:
        raise AssertionError("somebody was called")

    async with a_listener(never) as port:
        with pytest.raises(WebhookError):
            await Webhook(Reach(plain=True)).send(f"http://{host}:{port}/", {})


SEVEN = "\U0001fbf1\U0001fbf2\U0001fbf7.0.0.\U0001fbf1"
"""127.0.0.1 in signs that one reader takes for a name, and another for digits."""


@pytest.mark.parametrize(
    "host",
    [
        SEVEN,
        "\uff11\uff12\uff17.0.0.1",
        "127\u30020\u30020\u30021",
        "127%2e0%2e0%2e1",
        "[::1%25lo]",
    ],
)
async def test_no_name_is_looked_up_that_is_not_the_one_that_is_called(host: str) -> None:
    async def never(_: web.Request) -> web.Response:
        raise AssertionError("somebody was called")

    names = Names(["8.8.8.8"])
    async with a_listener(never) as port:
        with pytest.raises(WebhookError, match="ASCII") as told:
            await Webhook(Reach(plain=True), names).send(f"http://{host}:{port}/", {})
    assert (names.asked, told.value.forever) == ([], True)


@pytest.mark.parametrize(
    "host",
    [
        *("Hooks.Example", "xn--bcher-kva.example", "my_hook.example.", "a..b", "127.1"),
        *("8.8.8.8", "010.0.0.1", "[::1]", "[::FFFF:8.8.8.8]", "[2606:4700:0:0::1111]"),
    ],
)
async def test_what_is_looked_up_is_what_the_connection_asks_for(host: str) -> None:
    names = Names(["10.0.0.1"])
    with pytest.raises(WebhookError):
        await Webhook(OPEN, names).send(f"https://{host}/x", {})
    ((asked, _),) = names.asked
    called = str(URL(f"https://{host}/x").raw_host)
    if ":" in called:
        assert ip_address(asked) == ip_address(called)
    else:
        assert asked == called


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example/x",
        "ftp://hooks.example/x",
        "https:///x",
        "https://hooks.example:0/x",
        "https://hooks.example:99999/x",
        "https://jo:secret@hooks.example/x",
        "https://hooks.example/x y",
        "https://hooks.example/\r\nHost: inner",
        "hooks.example",
        "",
        "https://hooks.example/" + "x" * 3000,
        "https://[::1",
        "https://hooks.example/\u00fc",
        "https://hooks.example\\@10.0.0.1/x",
        "https://@hooks.example/x",
        "https://hooks.example:/x\u200b",
    ],
)
async def test_what_is_no_address_is_told_without_it(url: str) -> None:
    names = Names(["8.8.8.8"])
    with pytest.raises(WebhookError) as told:
        await Webhook(OPEN, names).send(url, {})
    assert told.value.forever
    assert names.asked == []
    assert "hooks.example" not in str(told.value)
    assert "secret" not in str(told.value)


async def test_no_redirect_is_followed() -> None:
    paths = []

    async def elsewhere(request: web.Request) -> web.Response:
        paths.append(request.path)
        raise web.HTTPTemporaryRedirect("/inner")

    async with a_listener(elsewhere) as port:
        with pytest.raises(WebhookError, match="HTTP 307") as told:
            await Webhook(HERE).send(f"http://{HOST}:{port}/a", {})
    assert (paths, told.value.forever) == (["/a"], True)


@pytest.mark.parametrize(
    ("code", "forever"), [(400, True), (404, True), (429, False), (503, False)]
)
async def test_what_the_other_side_says_is_not_repeated(code: int, forever: bool) -> None:
    async def refuse(_: web.Request) -> web.Response:
        return web.Response(status=code, text="inner words")

    async with a_listener(refuse) as port:
        with pytest.raises(WebhookError) as told:
            await Webhook(HERE).send(f"http://{HOST}:{port}/token", {})
    assert (str(told.value), told.value.forever) == (f"the answer was HTTP {code}", forever)


async def test_who_does_not_answer_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook, "_SECONDS", 0.1)

    async def sleep(_: web.Request) -> web.Response:
        await asyncio.sleep(60)
        return web.Response()

    async with a_listener(sleep) as port:
        with pytest.raises(WebhookError, match="TimeoutError") as told:
            await Webhook(HERE).send(f"http://{HOST}:{port}/token", {})
    assert not told.value.forever


async def test_who_is_not_there_is_told_without_a_name() -> None:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        port = taken.getsockname()[1]
        with pytest.raises(WebhookError) as told:
            await Webhook(HERE).send(f"http://localhost:{port}/token", {})
    assert "token" not in str(told.value)
    assert "localhost" not in str(told.value)


async def test_no_proxy_of_the_environment_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")

    async def hear(_: web.Request) -> web.Response:
        return web.Response()

    async with a_listener(hear) as port:
        await Webhook(HERE).send(f"http://{HOST}:{port}/", {})
