"""Pods that mean harm: whatever they send, the other jobs' reports go through as before."""

import asyncio
import contextlib
import gzip
import json
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from handlers.pods import FAST, HOST, Scene, a_report, a_scene, a_store, a_token, roll
from trainingjobs.handlers.answers import LONGEST
from trainingjobs.handlers.doors import Limits
from trainingjobs.model.report import MAX_BODY

HEAD = f"POST /api/v1/reports HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {a_token()}\r\n"
JSON = "Content-Type: application/json\r\n"
SCARCE = Limits(penalty=0, connections=16, of_one_address=12, seconds=1.5, body_seconds=0.5)
OTHER = a_token("pod-other", name="other-0")
ESCAPES = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e\u2066\u200b\u2028\ufeff\r\n<script>"


@contextlib.asynccontextmanager
async def connected(scene: Scene) -> AsyncIterator[tuple[asyncio.StreamReader, Any]]:
    port = int(scene.url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection(HOST, port)
    try:
        yield reader, writer
    finally:
        writer.close()


async def raw(scene: Scene, request: bytes) -> bytes:
    """What is answered to these bytes until the connection ends."""
    async with connected(scene) as (reader, writer):
        writer.write(request)
        with contextlib.suppress(ConnectionError):
            return await asyncio.wait_for(reader.read(), 20)
        return b""


async def until(holds: Callable[[], Any]) -> None:
    """Wait for what happens on the other side of a connection."""
    while not holds():  # noqa: ASYNC110  nobody there knows of us
        await asyncio.sleep(0.01)


async def others_are_heard(scene: Scene) -> None:
    assert (await scene.report(token=OTHER))[0] == 200


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """No test here may put a line of a stranger's into the log."""
    caplog.set_level(logging.INFO)
    yield
    assert [it for it in caplog.records if it.name != "asyncio"] == []


BODIES = {
    "deep lists": b"[" * MAX_BODY,
    "deep objects": b'{"a":' * 3000,
    "a deep value": b'{"version":1,"process":"p","stage":"spawned","x":' + b"[" * 8000,
    "no JSON": b"\x00" * 1000,
    "no UTF-8": b'{"version":1,"process":"\xff\xfe"}',
    "half a character": b'{"version":1,"process":"p","stage":"spawned","device":"\\ud800"}',
    "a number without end": b'{"version":1,"process":"p","stage":"spawned","pid":' + b"9" * 9000,
    "no number": b'{"version":1,"process":"p","stage":"spawned","rate":NaN}',
    "infinity": b'{"version":1,"process":"p","stage":"spawned","rate":1e999}',
    "less than nothing": b'{"version":1,"process":"p","stage":"spawned","steps":-1}',
    "too many metrics": json.dumps(
        a_report(told={"metrics": {f"m{it}": it for it in range(1000)}})
    ).encode(),
    "too many frames": json.dumps(
        a_report(frames=[{"file": "a", "line": 1, "function": "f"}] * 100)
    ).encode(),
    "a long name": json.dumps(a_report(device="x" * 8000)).encode(),
    "a name that moves": json.dumps(a_report(process=ESCAPES)).encode(),
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
async def test_a_body_that_is_no_report_is_refused_in_a_few_words(body: bytes) -> None:
    async with a_scene() as scene:
        code, said = await scene.report(data=body)
        assert code == 400
        assert len(said["error"]) <= LONGEST
        assert roll(scene) == ()
        await others_are_heard(scene)


async def test_of_two_values_of_one_name_the_last_counts() -> None:
    async with a_scene() as scene:
        twice = b'{"version":1,"process":"p","stage":"spawned","stage":"joined","rank":2,"rank":0}'
        assert (await scene.report(data=twice))[0] == 200
        assert (roll(scene)[0].report.stage, roll(scene)[0].report.rank) == ("joined", 0)


async def test_a_rank_that_is_proved_by_no_token_is_refused_whatever_comes_after() -> None:
    async with a_scene() as scene:
        twice = b'{"version":1,"process":"p","stage":"spawned","rank":0,"rank":1}'
        assert (await scene.report(data=twice))[0] == 400


async def test_nothing_that_moves_a_terminal_is_kept_or_told() -> None:
    async with a_scene() as scene:
        frame = {"file": ESCAPES, "line": 1, "function": ESCAPES, "user": True}
        error = {"type": ESCAPES, "message": ESCAPES, "frame": frame}
        said = a_report(frames=[frame], waitsIn=ESCAPES, device=ESCAPES, error=error)
        assert (await scene.report(said))[0] == 200
        kept = roll(scene)[0].report.model_dump_json()
        assert not {it for it in json.loads(kept)["device"] if not it.isprintable() and it != "�"}
        scene.authority.users["jo"] = {"username": "jo"}
        scene.authority.may.add(("jo", "lab", "mnist"))
        _, whole = await scene.get("/api/v1/namespaces/lab/trainingjobs/mnist", "jo")
        for text in (kept, json.dumps(whole, ensure_ascii=False)):
            assert not set(text) & set(ESCAPES) - set("[2J]0;owned31m<script>")


@pytest.mark.parametrize(
    "said",
    [
        {"told": {"metrics": {ESCAPES: 1}}},
        {"told": {"metrics": {"<img src=x onerror=alert(1)>" * 50: 1}}},
        {"stage": ESCAPES},
        {"process": "p" * 10_000},
    ],
)
async def test_an_error_tells_names_of_fields_cut_short_and_no_values(said: Any) -> None:
    async with a_scene() as scene:
        code, answer = await scene.report(a_report(**said))
        assert code == 400
        assert answer["error"].isprintable()
        assert len(answer["error"]) <= LONGEST
        assert "onerror" not in answer["error"][120:]
        assert "pppp" not in answer["error"]


async def test_a_body_that_says_how_long_it_is_and_is_too_long_is_not_read() -> None:
    async with a_scene() as scene:
        head = f"{HEAD}{JSON}Content-Length: {10**12}\r\n\r\n".encode()
        started = time.monotonic()
        assert (await raw(scene, head)).startswith(b"HTTP/1.1 413")
        assert time.monotonic() - started < 5
        await others_are_heard(scene)


async def test_a_body_without_an_end_is_cut_off() -> None:
    async with a_scene() as scene:
        chunk = b"1000\r\n" + b"x" * 0x1000 + b"\r\n"
        head = f"{HEAD}{JSON}Transfer-Encoding: chunked\r\n\r\n".encode()
        assert (await raw(scene, head + chunk * 200)).startswith((b"HTTP/1.1 413", b""))
        assert roll(scene) == ()
        await others_are_heard(scene)


async def test_what_is_compressed_is_not_unpacked() -> None:
    async with a_scene() as scene:
        bomb = gzip.compress(b" " * 10_000_000)
        assert len(bomb) < MAX_BODY
        assert (await scene.report(data=bomb, headers={"Content-Encoding": "gzip"}))[0] == 415
        await others_are_heard(scene)


async def test_a_slow_body_has_its_seconds_and_no_more() -> None:
    async with a_scene(limits=SCARCE) as scene:
        async with connected(scene) as (reader, writer):
            writer.write(f"{HEAD}{JSON}Content-Length: 100\r\n\r\n".encode() + b"{")
            answer = await asyncio.wait_for(reader.read(), 10)
            assert answer.startswith(b"HTTP/1.1 408")
        assert roll(scene) == ()


@pytest.mark.parametrize(
    "sent", ["Content-Length: 100\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n5\r\n{"]
)
async def test_who_leaves_in_the_middle_of_a_body_is_no_line_of_the_log(sent: str) -> None:
    async with a_scene() as scene:
        async with connected(scene) as (_, writer):
            writer.write(f"{HEAD}{JSON}{sent}".encode())
            await until(lambda: scene.authority.calls)
        name, labels = "trainingjob_operator_rollcall_requests_total", {"route": "reports"}
        labels["code"] = "400"
        await until(lambda: scene.registry.get_sample_value(name, labels))
        await others_are_heard(scene)


@pytest.mark.parametrize("ends", [b"zz\r\n", b"5\r\n{\r\n\r\n\r\n", b"ffffffffffffffffffff\r\n"])
async def test_chunks_that_are_none_are_a_body_that_has_not_come(ends: bytes) -> None:
    async with a_scene(limits=SCARCE) as scene:
        head = f"{HEAD}{JSON}Transfer-Encoding: chunked\r\n\r\n".encode()
        answer = await raw(scene, head + b"1\r\n{\r\n" + ends)
        assert answer.startswith((b"HTTP/1.1 4", b"HTTP/1.0 4"))
        await others_are_heard(scene)


async def test_who_says_nothing_is_shown_out() -> None:
    async with a_scene(limits=SCARCE) as scene, connected(scene) as (reader, _):
        with contextlib.suppress(ConnectionError):
            assert await asyncio.wait_for(reader.read(), 10) == b""


async def test_who_says_one_letter_after_the_other_is_shown_out() -> None:
    async with a_scene(limits=SCARCE) as scene, connected(scene) as (reader, writer):

        async def drip() -> None:
            for letter in HEAD * 100:
                writer.write(letter.encode())
                await asyncio.sleep(0.05)

        dripping = asyncio.create_task(drip())
        with contextlib.suppress(ConnectionError):
            assert await asyncio.wait_for(reader.read(), 10) == b""
        dripping.cancel()


async def test_a_connection_serves_one_request() -> None:
    async with a_scene() as scene:
        body = json.dumps(a_report())
        one = f"{HEAD}{JSON}Content-Length: {len(body)}\r\n\r\n{body}".encode()
        assert (await raw(scene, one * 3)).count(b"HTTP/1.1 200") == 1
        assert len(roll(scene)) == 1


async def test_one_address_cannot_take_all_connections() -> None:
    async with a_scene(limits=SCARCE) as scene:
        async with contextlib.AsyncExitStack() as stack:
            held = [await stack.enter_async_context(connected(scene)) for _ in range(12)]
            reader, _ = await stack.enter_async_context(connected(scene))
            # the thirteenth is shown out at once
            with contextlib.suppress(ConnectionError):
                assert await asyncio.wait_for(reader.read(), 1) == b""
            assert not held[0][0].at_eof()
        await asyncio.sleep(0.1)
        await others_are_heard(scene)


async def test_when_all_are_taken_the_oldest_goes_and_who_comes_is_served() -> None:
    limits = Limits(penalty=0, connections=8, of_one_address=100, chance=0)
    async with a_scene(limits=limits) as scene, contextlib.AsyncExitStack() as stack:
        held = [await stack.enter_async_context(connected(scene)) for _ in range(8)]
        await others_are_heard(scene)
        with contextlib.suppress(ConnectionError):
            assert await asyncio.wait_for(held[0][0].read(), 5) == b""


async def test_when_nobody_has_been_there_for_long_who_comes_is_sent_away() -> None:
    """The operator is what is slow then: to end what was begun would help nobody."""
    limits = Limits(penalty=0, connections=8, of_one_address=100, chance=60)
    async with a_scene(limits=limits) as scene, contextlib.AsyncExitStack() as stack:
        held = [await stack.enter_async_context(connected(scene)) for _ in range(8)]
        async with connected(scene) as (reader, _):
            with contextlib.suppress(ConnectionError):
                assert await asyncio.wait_for(reader.read(), 10) == b""
        assert not any(reader.at_eof() for reader, _ in held)


@pytest.mark.parametrize(
    "request_",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 200,
        b"GET / HTTP/9.9\r\n\r\n",
        b"\r\n" * 5000,
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X-A: b\r\n" * 1000 + b"\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 100_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nX: \x00\r\n\r\n",
        b"GET /%00%0a%ff HTTP/1.1\r\nHost: x\r\n\r\n",
        b"POST /api/v1/reports HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nabc",
        f"{HEAD}{JSON}Transfer-Encoding: chunked\r\n\r\nzz\r\n".encode(),
        b"GET /none HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
    ],
    ids=[
        *("tls", "version", "lines", "path", "headers", "header", "nul", "escapes", "length"),
        *("smuggled", "chunks", "upgrade"),
    ],
)
async def test_what_is_no_http_harms_nobody(request_: bytes) -> None:
    async with a_scene(limits=SCARCE) as scene:
        answer = await raw(scene, request_)
        assert not answer.startswith((b"HTTP/1.1 5", b"HTTP/1.0 5"))
        said = answer.rpartition(b"\r\n\r\n")[2]
        assert not said or len(json.loads(said)["error"]) < 100, "what was sent comes back"
        await others_are_heard(scene)


async def test_tokens_that_are_made_up_cost_the_api_server_nothing() -> None:
    async with a_scene() as scene:
        for number in range(100):
            assert (await scene.report(token=f"a.{number}.b"))[0] == 401
            assert (await scene.report(token=a_token(f"stranger-{number}")))[0] == 503
        assert scene.authority.calls == []
        await others_are_heard(scene)


async def test_a_stolen_uid_does_not_make_a_pod() -> None:
    """A token may say what it likes: the API server has not signed it."""
    async with a_scene() as scene:
        forged = a_token("pod-other", name="other-0", jti="forged")
        scene.authority.revoked.add(forged)
        assert (await scene.report(token=forged))[0] == 401
        assert roll(scene) == ()
        await others_are_heard(scene)


async def test_a_million_ranks_are_as_many_as_a_pod_may_have() -> None:
    async with a_scene(a_store(processesPerInstance=1000)) as scene:
        for number in range(1300):
            said = a_report(process=f"p-{number}", rank=number % 1000)
            assert (await scene.report(said))[0] == 200
        assert len(roll(scene)) == 1008
        await others_are_heard(scene)


async def test_what_should_not_have_been_sent_is_answered_late() -> None:
    """A pod that asks as often as it can has few questions a second."""
    async with a_scene(limits=Limits(penalty=0.5)) as scene:
        for options in ({"token": "x"}, {"data": b"{"}, {"token": a_token(exp=1)}):
            started = time.monotonic()
            assert (await scene.report(**options))[0] in {400, 401}
            assert time.monotonic() - started >= 0.5
        started = time.monotonic()
        late = asyncio.gather(*[scene.report(token="x") for _ in range(30)])
        await others_are_heard(scene)
        assert time.monotonic() - started < 0.5
        await late


async def test_a_stranger_is_answered_late_whatever_the_answer() -> None:
    """Else an unknown pod, and whoever reads the description, may ask as often as they can."""
    async with a_scene(limits=Limits(penalty=0.5)) as scene:
        started = time.monotonic()
        assert (await scene.report(token=a_token("pod-unknown")))[0] == 503
        assert time.monotonic() - started >= 0.5
        started = time.monotonic()
        assert (await scene.get("/openapi.json"))[0] == 200
        assert time.monotonic() - started >= 0.5
        assert (await scene.report())[0] == 200
        started = time.monotonic()
        await others_are_heard(scene)
        assert time.monotonic() - started < 0.5


async def test_a_flood_from_one_pod_leaves_room_for_the_others() -> None:
    async with a_scene(limits=FAST) as scene:
        over = False

        async def flood() -> None:
            while not over:
                with contextlib.suppress(OSError):
                    await scene.report()

        floods = [asyncio.create_task(flood()) for _ in range(20)]
        other = [await scene.report(token=OTHER) for _ in range(10)]
        over = True
        await asyncio.gather(*floods)
        assert [code for code, _ in other] == [200] * 10
        assert len(scene.woken) < 10
