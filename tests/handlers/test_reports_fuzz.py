"""Requests made from the service's own description, right ones and wrong ones.

The service stands in a thread behind a real port. No answer may be an error of its own, and
each must be one that the description knows, in the form that it promises.
"""

import asyncio
import contextlib
import http.client
import json
import re
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import negative_data_rejection

from handlers.pods import FAST, HOST, Scene, a_scene, a_store, a_token
from trainingjobs.cluster.sheets import RANK_BYTES, SPARE_BYTES
from trainingjobs.handlers import answers
from trainingjobs.schema import service

RANKS = 1024
REPORTS, STANDINGS = "/api/v1/reports", "/api/v1/namespaces/{namespace}/trainingjobs/{name}"
MODES = [GenerationMode.POSITIVE, GenerationMode.NEGATIVE]
BUSY = {408, 429, 503}
"""What a machine that is busy with other things may answer as well; each is in the description."""
many = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
SCHEMA: Any = schemathesis.openapi.from_dict(service.document())


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    """A service whose pod may send as many reports as a test needs."""
    loop, there = asyncio.new_event_loop(), threading.Event()
    over, found = asyncio.Event(), []

    async def serve() -> None:
        async with a_scene(a_store(processesPerInstance=RANKS), FAST) as scene:
            scene.authority.users["jo"] = {"username": "jo", "groups": ["g"]}
            scene.authority.may.add(("jo", "lab", "mnist"))
            found.append(scene)
            there.set()
            await over.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    assert there.wait(30)
    yield found[0]
    loop.call_soon_threadsafe(over.set)
    thread.join(30)
    loop.close()


def told(scene: Scene, case: Any, token: str | None) -> Any:
    """The answer, after it was held against the description."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    answer = case.call(base_url=scene.url, headers=headers)
    # what is wrong may be put right on its way, and 503 is no error where it is described
    case.validate_response(answer, excluded_checks=[not_a_server_error, negative_data_rejection])
    assert answer.status_code < 500 or answer.status_code == 503
    return answer


@pytest.mark.parametrize("mode", MODES, ids=lambda it: it.value)
def test_reports(scene: Scene, mode: GenerationMode) -> None:
    codes = set()

    @many
    @given(case=SCHEMA[REPORTS]["POST"].as_strategy(generation_mode=mode))
    def every(case: Any) -> None:
        if mode is GenerationMode.POSITIVE and (case.body.get("rank") or 0) >= RANKS:
            case.body["rank"] = None
        codes.add(told(scene, case, a_token()).status_code)

    every()
    assert codes <= {200, 400, 401, 413, 415} | BUSY
    assert (200 if mode is GenerationMode.POSITIVE else 400) in codes


@pytest.mark.parametrize("mode", MODES, ids=lambda it: it.value)
@pytest.mark.parametrize("token", ["jo", "nobody", None])
def test_questions(scene: Scene, mode: GenerationMode, token: str | None) -> None:
    @many
    @given(case=SCHEMA[STANDINGS]["GET"].as_strategy(generation_mode=mode))
    def every(case: Any) -> None:
        told(scene, case, token)

    every()


@many
@given(
    token=st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=400)
    | st.from_regex(
        r"[A-Za-z0-9_-]{0,40}\.[A-Za-z0-9_-]{0,200}\.[A-Za-z0-9_-]{0,40}", fullmatch=True
    )
)
def test_tokens(scene: Scene, token: str) -> None:
    """No token that was made up is an error of the service's own, or costs a review."""
    case = SCHEMA[REPORTS]["POST"].Case(body={}, media_type="application/json")
    before = scene.authority.asked()
    assert told(scene, case, token).status_code == 401
    assert scene.authority.asked() == before


@many
@given(raw=st.binary(max_size=300) | st.text(max_size=300).map(str.encode))
def test_bodies(scene: Scene, raw: bytes) -> None:
    headers = {"Authorization": f"Bearer {a_token()}", "Content-Type": "application/json"}
    there = http.client.HTTPConnection(scene.url.removeprefix("http://"), timeout=10)
    there.request("POST", REPORTS, raw, headers)
    answer = there.getresponse()
    assert answer.status == http.client.BAD_REQUEST
    assert 0 < len(json.load(answer)["error"]) <= answers.LONGEST
    there.close()


PATIENCE = 0.2
"""Seconds; a machine that is slower than that makes this test see less, and never fail."""
BODY = json.dumps({"version": 1, "process": "p", "rank": 0, "stage": "spawned"})
WHOLE = (
    f"POST {REPORTS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {a_token()}\r\n"
    f"Content-Type: application/json\r\nContent-Length: {len(BODY)}\r\n\r\n{BODY}"
).encode()
PIECES = st.binary(max_size=12) | st.sampled_from(
    [
        *(b"\r\n", b"\r\n\r\n", b": ", b"\x00", b"\xff", b"Transfer-Encoding: chunked\r\n"),
        *(b"Content-Length: 5\r\n", b"0\r\n\r\n", b"GET / HTTP/1.1\r\n", b"9" * 40, b"\x1b[2J"),
        *(b"Expect: 100-continue\r\n", b"Connection: upgrade\r\nUpgrade: h2c\r\n", b" HTTP/2.0"),
        *(b"[" * 2000, b"<script>", WHOLE),
    ]
)


@st.composite
def mangled(draw: st.DrawFn) -> bytes:
    """A right request of which some places were cut out, doubled or filled with something else."""
    wire = WHOLE
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(wire)))
        end = min(len(wire), at + draw(st.integers(0, 40)))
        wire = wire[:at] + draw(PIECES | st.just(wire[at:end] * 2)) + wire[end:]
    return wire


def answered(scene: Scene, wire: bytes) -> bytes:
    """What comes back to these bytes; who waits for more of them is left alone."""
    port = int(scene.url.rpartition(":")[2])
    with socket.create_connection((HOST, port), timeout=PATIENCE) as there:
        answer = b""
        with contextlib.suppress(ConnectionError, TimeoutError):
            there.sendall(wire)
            while piece := there.recv(4096):
                answer += piece
        return answer


@settings(parent=many, max_examples=200)
@given(wire=mangled())
def test_bytes_on_the_wire(scene: Scene, wire: bytes) -> None:
    """One connection is one answer at most, and never an error of the service's own."""
    answer = answered(scene, wire)
    codes = re.findall(rb"HTTP/1\.[01] (\d{3}) ", answer)
    assert len([it for it in codes if it != b"100"]) <= 1
    assert not [it for it in codes if it.startswith(b"5") and it != b"503"]
    head, _, said = answer.rpartition(b"\r\n\r\n")
    assert len(head) < 1_000
    assert not said or len(json.loads(said).get("error", "")) <= answers.LONGEST


def test_after_all_of_it_a_report_is_taken_and_memory_is_bounded(scene: Scene) -> None:
    there = http.client.HTTPConnection(scene.url.removeprefix("http://"), timeout=20)
    headers = {"Authorization": f"Bearer {a_token()}", "Content-Type": "application/json"}
    there.request("POST", REPORTS, BODY, headers)
    assert there.getresponse().status == http.client.OK
    there.close()
    assert scene.rolls.weight <= 8 * (SPARE_BYTES + RANK_BYTES * RANKS)
