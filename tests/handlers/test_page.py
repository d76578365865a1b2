"""The page: its files for everybody, its streams for whoever may see what they tell."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from builders import UID, a_body
from handlers.pods import Scene, a_report, a_scene, a_token
from trainingjobs.cluster.curves import Curves
from trainingjobs.cluster.gate import BusyError
from trainingjobs.handlers.page import board, files, onejob, reader, streams
from trainingjobs.handlers.page.wire import Wire

JOBS = "/api/v1/trainingjobs/stream"
JOB = "/api/v1/namespaces/lab/trainingjobs/{}/stream"


def a_user(name: str) -> dict[str, Any]:
    return {"username": name, "uid": name, "groups": [], "extra": {}}


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    async with a_scene(api_tokens=True, bounds=FAST) as scene:
        scene.authority.users |= {it: a_user(it) for it in ("jo", "root", "no")}
        scene.authority.may |= {("root", "", None), ("jo", "lab", None), ("jo", "lab", "mnist")}
        yield scene


FAST = streams.Bounds(tick=0.05, beat=0.3, of_one_user=3)


class Events:
    """The events of a stream, one after the other."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer
        self.status, self.headers = answer.status, answer.headers

    async def next(self) -> tuple[str, Any]:
        """The next event; a beat is ("", None)."""
        async with asyncio.timeout(10):
            head = (await self._answer.content.readline()).decode()
            if head.startswith(":"):
                await self._answer.content.readline()
                return "", None
            data = (await self._answer.content.readline()).decode()
            await self._answer.content.readline()
        return head.removeprefix("event: ").strip(), json.loads(data.removeprefix("data: "))

    async def until(self, kind: str) -> Any:
        """The next event of a kind."""
        while True:
            found, value = await self.next()
            if found == kind:
                return value


@asynccontextmanager
async def opened(scene: Scene, path: str, token: str) -> AsyncIterator[Events]:
    headers = {"Authorization": f"Bearer {token}"}
    async with scene.http.get(f"{scene.url}{path}", headers=headers) as answer:
        yield Events(answer)


def put(scene: Scene, name: str, namespace: str = "lab", version: int = 11, **status: Any) -> None:
    body = a_body(name=name)
    uid = UID if (namespace, name) == ("lab", "mnist") else f"uid-of-{namespace}-{name}"
    body["metadata"] |= {"uid": uid, "namespace": namespace, "resourceVersion": str(version)}
    scene.store.put_job({**body, "status": status})


async def let_in(scene: Scene, token: str, otherwise: str) -> None:
    """Wait until this one may open a stream."""
    for _ in range(50):
        async with opened(scene, JOBS, token) as stream:
            if stream.status == 200:
                return
        await asyncio.sleep(0.1)
    pytest.fail(otherwise)


@pytest.mark.parametrize("path", ["/", *(f"/ui/{name}" for name in files.found())])
async def test_the_files_are_for_everybody_and_may_do_little(scene: Scene, path: str) -> None:
    async with scene.http.get(f"{scene.url}{path}") as answer:
        assert answer.status == 200
        policy = answer.headers["Content-Security-Policy"].split("; ")
        assert {"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"} <= set(policy)
        assert "unsafe" not in "".join(policy)
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert await answer.read()
    assert scene.authority.calls == []


@pytest.mark.parametrize("name", ["none.js", "..%2ffiles.py", "%2e%2e/files.py", "__init__.py", ""])
async def test_nothing_else_is_a_file(scene: Scene, name: str) -> None:
    assert (await scene.get(f"/ui/{name}"))[0] == 404


def test_the_page_asks_nobody_else_for_anything() -> None:
    for name, (_, body) in files.found().items():
        text = body.decode().replace("http://www.w3.org/2000/svg", "")
        assert "http:" not in text and "https:" not in text and "//" + "cdn" not in text, name  # noqa: PT018
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert word not in text, name


def test_all_scripts_are_fetched_at_one_time() -> None:
    """Each is a connection through a port-forward: none waits until another one names it."""
    told = files.found()["index.html"][1].decode()
    scripts = {name for name in files.found() if name.endswith(".js")}
    assert [name for name in scripts if f'="ui/{name}"' not in told] == []


async def test_who_may_list_all_sees_all(scene: Scene) -> None:
    put(scene, "far", "away", phase="Running")
    async with opened(scene, JOBS, "root") as events:
        assert events.headers["Content-Type"] == "text/event-stream"
        said = await events.until("jobs")
    assert {(it["namespace"], it["name"]) for it in said["rows"]} == {
        ("lab", "mnist"),
        ("lab", "other"),
        ("away", "far"),
    }
    assert (said["whole"], said["namespaces"]) == (True, None)


async def test_others_see_the_namespaces_that_they_may_list(scene: Scene) -> None:
    put(scene, "far", "away", phase="Running")
    async with opened(scene, JOBS, "jo") as events:
        said = await events.until("jobs")
        assert {it["namespace"] for it in said["rows"]} == {"lab"}
        assert said["namespaces"] == ["lab"]
        # what changes where one may not look is told by nothing, not even by an empty event
        await asyncio.sleep(1.1)
        put(scene, "far", "away", 12, phase="Failed")
        put(scene, "mnist", phase="Running", ready="3/3")
        said = await events.until("jobs")
        assert [(it["name"], it["phase"]) for it in said["rows"]] == [("mnist", "Running")]
        assert not said["whole"]


async def test_one_namespace_may_be_asked_for(scene: Scene) -> None:
    put(scene, "far", "away")
    async with opened(scene, f"{JOBS}?namespace=lab", "jo") as events:
        assert {it["namespace"] for it in (await events.until("jobs"))["rows"]} == {"lab"}


@pytest.mark.parametrize(("path", "token", "code"), [
    (JOBS, "no", 403), (JOBS, "nobody", 401), (JOBS, "", 401),
    (JOB.format("mnist"), "no", 403), (JOB.format("none"), "no", 403),
    (JOB.format("other"), "jo", 403), (JOB.format("mnist"), "nobody", 401),
    (JOBS, a_token(), 401), (f"{JOBS}?namespace=away", "jo", 403),
])  # fmt: skip
async def test_who_may_not_learns_nothing(scene: Scene, path: str, token: str, code: int) -> None:
    async with opened(scene, path, token) as events:
        assert events.status == code


async def test_a_job_is_told_whole_and_then_what_changes(scene: Scene) -> None:
    put(
        scene, "mnist", phase="Running", attempt=1, training={"step": 3, "metrics": {"loss": "NaN"}}
    )
    await scene.report(a_report(rank=0, stage="joining"))
    async with opened(scene, JOB.format("mnist"), "jo") as events:
        assert (await events.next())[0] == "curves"
        head = await events.until("job")
        assert (head["phase"], head["status"]["training"]["step"]) == ("Running", 3)
        ranks = await events.until("ranks")
        row = dict(zip(onejob.COLUMNS, ranks["rows"][0], strict=True))
        assert (ranks["whole"], len(ranks["rows"])) == (True, 3)
        assert (row["rank"], row["pod"], row["stage"]) == (0, "mnist-0", "joining")
        second = a_report(process="p-1", rank=1, stage="joined")
        await scene.report(second, token=a_token("pod-1", name="mnist-1"))
        ranks = await events.until("ranks")
        assert (ranks["whole"], [it[0] for it in ranks["rows"]]) == (False, [1])


async def test_a_job_that_is_gone_ends_its_stream(scene: Scene) -> None:
    async with opened(scene, JOB.format("mnist"), "jo") as events:
        await events.until("ranks")
        scene.store.drop_job(scene.store.job(("lab", "mnist")) or {})
        assert "no such" in (await events.until("bye"))["error"]


async def test_a_right_that_is_taken_away_ends_the_stream(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "_AGAIN", 0.2)
    monkeypatch.setattr("trainingjobs.handlers.standings._SECONDS", 0.1)
    async with opened(scene, JOBS, "jo") as one, opened(scene, JOB.format("mnist"), "jo") as two:
        await one.until("jobs")
        await two.until("ranks")
        scene.authority.may.clear()
        assert "may list" in (await one.until("bye"))["error"]
        assert "may not get" in (await two.until("bye"))["error"]


async def test_a_standby_says_who_leads() -> None:
    async with a_scene(api_tokens=True, leads=lambda: False, leader=lambda: "pod-b") as scene:
        scene.authority.users["root"] = a_user("root")
        code, said = await scene.get(JOBS, "root")
        assert (code, "pod-b leads" in said["error"]) == (503, True)


async def test_streams_are_counted_by_their_reader_and_let_go(scene: Scene) -> None:
    async with AsyncExitStack() as stack:

        async def status(token: str) -> int:
            events = await stack.enter_async_context(opened(scene, JOBS, token))
            return int(events.status)

        assert [await status("root") for _ in range(4)] == [200, 200, 200, 503]
        assert await status("jo") == 200
    await let_in(scene, "root", "a stream that was closed is still counted")


async def test_nothing_new_is_a_beat(scene: Scene) -> None:
    async with opened(scene, JOBS, "root") as events:
        assert (await events.next())[0] == "jobs"
        assert await events.next() == ("", None)


async def test_the_api_server_is_asked_once_for_many_streams(scene: Scene) -> None:
    async with opened(scene, JOBS, "jo"), opened(scene, JOBS, "jo"):
        pass
    assert scene.authority.asked() == 1
    assert scene.authority.asked("subjectaccessreviews") == 2  # all, and then the one namespace


async def test_the_board_holds_so_many_and_no_more(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(board, "MOST_JOBS", 10)
    for number in range(30):
        put(scene, f"job-{number}")
    async with opened(scene, JOBS, "root") as events:
        assert len((await events.until("jobs"))["rows"]) == 10


async def test_who_may_see_one_namespace_of_many_sees_it(scene: Scene) -> None:
    for number in range(71):
        put(scene, "other", f"a-{number:02}", phase="Running")
    async with opened(scene, JOBS, "jo") as events:
        assert (await events.until("jobs"))["namespaces"] == ["lab"]


async def test_a_reader_costs_so_many_questions_and_no_more(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(board, "MOST_ASKED", 5)
    monkeypatch.setattr(reader, "_AGAIN", 0.1)
    monkeypatch.setattr("trainingjobs.handlers.standings._SECONDS", 0.1)
    for number in range(9):
        put(scene, "other", f"away-{number}")
    scene.authority.may.add(("jo", "away-2", None))
    async with opened(scene, JOBS, "jo") as events:
        assert (await events.until("jobs"))["namespaces"] == ["away-2"]
        await asyncio.sleep(0.5)
    calls = [it for kind, it in scene.authority.calls if kind == "subjectaccessreviews"]
    asked = Counter(it["resourceAttributes"].get("namespace", "") for it in calls)
    assert asked.keys() == {"", *(f"away-{number}" for number in range(5))}
    # a yes is asked about again and again, a no is remembered
    assert asked["away-2"] > 1
    assert {asked[f"away-{number}"] for number in (0, 1, 3, 4)} == {1}


LONG = "\U0001f984" * 300


async def test_a_ranks_row_is_short_whatever_it_says(scene: Scene) -> None:
    frames = [{"file": LONG, "line": 7, "function": "f", "user": True}]
    await scene.report(a_report(rank=0, stage="stepping", waitsIn=LONG[:128], frames=frames))
    async with opened(scene, JOB.format("mnist"), "jo") as events:
        row = dict(zip(onejob.COLUMNS, (await events.until("ranks"))["rows"][0], strict=True))
    assert (len(row["line"]), len(row["waits_in"])) == (120, 120)
    assert len(streams.compact(list(row.values()))) < 1_200


def test_half_a_character_is_no_error() -> None:
    assert json.loads(streams.compact({"a": "\ud83e", "b": "\U0001f984"})) == {
        "a": "?",
        "b": "\U0001f984",
    }


def pictures_of(scene: Scene) -> onejob.Pictures:
    sources = scene.service._sources()  # noqa: SLF001
    return onejob.Pictures(sources, Curves(), time.monotonic)


class Anybody:
    """A reader who may see all."""

    async def is_due(self) -> bool:
        """Nothing is asked."""
        return False


async def test_a_picture_goes_with_its_last_reader(scene: Scene) -> None:
    known = pictures_of(scene)
    feeds = [onejob.Feed(known, Anybody(), ("lab", "mnist")) for _ in range(2)]  # type: ignore[arg-type]
    for feed in feeds:
        assert b"event: ranks" in await feed.news()
    assert len(known) == 1
    feeds[0].close()
    assert len(known) == 1
    feeds[1].close()
    assert len(known) == 0


async def test_pictures_are_weighed(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("mnist", "other"):
        put(scene, name, phase="Running", attempt=1)
    await scene.report(a_report(stage="joining"))
    known = pictures_of(scene)
    one = onejob.Feed(known, Anybody(), ("lab", "mnist"))  # type: ignore[arg-type]
    await one.news()
    (weight,) = [it.ranks.weight for it in known._known.values()]  # noqa: SLF001
    assert 3 * 30 < weight < 3 * 200
    monkeypatch.setattr(onejob, "_MOST_BYTES", weight - 1)
    two = onejob.Feed(known, Anybody(), ("lab", "other"))  # type: ignore[arg-type]
    with pytest.raises(BusyError):
        await two.news()
    assert len(known) == 1
    one.close()
    assert b"event: ranks" in await two.news()


async def test_a_stream_that_ends_lets_its_picture_go(scene: Scene) -> None:
    made: list[onejob.Feed] = []

    class Kept(onejob.Feed):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            made.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(onejob, "Feed", Kept)
        async with opened(scene, JOB.format("mnist"), "jo") as events:
            await events.until("ranks")
            assert len(made[0]._pictures) == 1  # noqa: SLF001
    for _ in range(100):
        if not len(made[0]._pictures):  # noqa: SLF001
            return
        await asyncio.sleep(0.05)
    pytest.fail("nobody looks at it, and it is still there")


def test_what_is_on_the_way_is_bounded() -> None:
    way = Wire(1_000_000)
    with way.room("jo", 200_000), way.room("jo", 50_000):
        with pytest.raises(BusyError), way.room("jo", 70_000):
            pass  # a quarter is one user's
        with way.room("root", 700_000), pytest.raises(BusyError), way.room("ann", 100_000):
            pass  # and all is all
        with way.room("ann", 60_000):
            assert len(way) == 310_000  # what has changed may always be told
    assert len(way) == 0
    with way.room("jo", 5_000_000):
        assert len(way) == 5_000_000  # who is alone is told the largest as well


async def test_who_does_not_read_takes_so_much_and_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    async def large(_: board.Feed) -> bytes:
        return streams.raw_event("jobs", b"0" * 20_000_000)

    monkeypatch.setattr(board.Feed, "news", large)
    bounds = streams.Bounds(patience=1.0, on_the_way=30_000_000)
    async with a_scene(api_tokens=True, bounds=bounds) as scene:
        scene.authority.users |= {it: a_user(it) for it in ("jo", "root")}
        async with opened(scene, JOBS, "root") as slow:
            assert slow.status == 200
            async with opened(scene, JOBS, "jo") as other:
                assert other.status == 503
            await let_in(scene, "jo", "who does not read is still waited for")
