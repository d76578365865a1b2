"""Logs and events on the page: for whoever may read them with kubectl, and no more than that."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from builders import UID
from cluster.raw import raw_pod
from handlers.pods import Scene, a_scene
from trainingjobs.cluster.errors import ApiError
from trainingjobs.cluster.records import EVENTS, KEPT
from trainingjobs.handlers.page import archive

OF = "/api/v1/namespaces/lab/trainingjobs/mnist"
LOG = f"{OF}/instances/1/log"
PODS = "/api/v1/namespaces/lab/pods"


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    async with a_scene(api_tokens=True) as scene:
        for name in ("jo", "blind"):
            scene.authority.users[name] = {"username": name, "uid": name, "groups": [], "extra": {}}
            scene.authority.may.add((name, "lab", "mnist"))
        scene.authority.may |= {("jo", "lab", "pods/log"), ("jo", "lab", "events")}
        yield scene


def an_event(uid: str, **changes: Any) -> dict[str, Any]:
    about = {"involvedObject": {"uid": uid}, "metadata": {}}
    return {**about, "type": "Normal", "reason": "Started", "message": "it began", **changes}


def pod_of(scene: Scene, rank: int) -> Any:
    return next(it for it in scene.store.pods_of(UID) if it.rank == rank)


async def test_the_log_of_an_instance_is_that_of_its_pod(scene: Scene) -> None:
    pod = pod_of(scene, 1)
    scene.authority.logs[f"{PODS}/{pod.name}"] = "step 1\nstep 2\n"
    told = {"pod": pod.name, "attempt": 1, "text": "step 1\nstep 2\n", "more": False}
    assert await scene.get(LOG, "jo") == (200, told)
    (path, query), *_ = scene.authority.read
    assert path == f"{PODS}/{pod.name}/log"
    assert set(query) == {"tailLines", "limitBytes"}, "an only container needs no name"
    asked = [it["resourceAttributes"] for kind, it in scene.authority.calls if "access" in kind]
    assert asked[-1] == {
        "verb": "get",
        "namespace": "lab",
        "name": pod.name,
        "resource": "pods",
        "subresource": "log",
        "version": "v1",
    }


async def test_a_long_log_is_told_from_its_end(scene: Scene) -> None:
    lines = "".join(f"step {number} {'.' * 400}\n" for number in range(40_000))
    scene.authority.logs[f"{PODS}/{pod_of(scene, 1).name}"] = lines
    _, told = await scene.get(LOG, "jo")
    assert told["more"] is True
    assert len(told["text"]) <= KEPT
    assert told["text"].startswith("step ")
    assert told["text"].endswith(f"step 39999 {'.' * 400}\n")


async def test_of_lines_that_are_too_long_the_last_are_told(scene: Scene) -> None:
    """A kubelet counts bytes from the first of the lines on: it would tell the old ones."""
    lines = "".join(f"{number} {'x' * 9_000}\n" for number in range(900))
    scene.authority.logs[f"{PODS}/{pod_of(scene, 1).name}"] = lines
    _, told = await scene.get(LOG, "jo")
    assert told["text"].endswith(f"899 {'x' * 9_000}\n")
    assert told["more"] is True
    assert [query["tailLines"] for _, query in scene.authority.read] == ["501", "21"]


async def test_one_line_without_an_end_is_told_as_well(scene: Scene) -> None:
    scene.authority.logs[f"{PODS}/{pod_of(scene, 1).name}"] = "x" * 999_999
    _, told = await scene.get(LOG, "jo")
    assert told["text"] == "x" * KEPT


async def test_many_who_look_cost_one_question(scene: Scene) -> None:
    scene.authority.logs[f"{PODS}/{pod_of(scene, 1).name}"] = "step 1\n"
    for _ in range(3):
        assert (await scene.get(LOG, "jo"))[0] == 200
        assert (await scene.get(f"{OF}/events", "jo"))[0] == 200
    assert len(scene.authority.read) == 2


async def test_of_several_containers_the_one_that_trains_is_read(scene: Scene) -> None:
    beside = [{"name": "proxy"}, {"name": "trainer"}]
    pod = raw_pod(1, spec={"nodeName": "node-1", "containers": beside})
    pod["metadata"]["resourceVersion"] = "99"
    scene.store.put({**pod, "kind": "Pod"})
    scene.authority.logs[f"{PODS}/{pod['metadata']['name']}"] = "step 1\n"
    assert (await scene.get(LOG, "jo"))[0] == 200
    assert scene.authority.read[0][1]["container"] == "trainer"


@pytest.mark.parametrize(("lines", "more"), [(500, False), (501, True)])
async def test_there_is_more_where_there_is(scene: Scene, lines: int, more: bool) -> None:
    text = "".join(f"step {number}\n" for number in range(lines))
    scene.authority.logs[f"{PODS}/{pod_of(scene, 1).name}"] = text
    _, told = await scene.get(LOG, "jo")
    assert (told["text"].count("\n"), told["more"]) == (500, more)


async def test_a_pod_that_was_replaced_while_it_was_read_is_not_told(scene: Scene) -> None:
    """The pods of all attempts have the same names."""
    pod = pod_of(scene, 1)
    scene.authority.logs[f"{PODS}/{pod.name}"] = "step 1 of the next attempt\n"
    text = scene.authority.text

    async def replaced(path: str, query: Mapping[str, str]) -> str:
        later = raw_pod(1, uid="pod-later", metadata={"name": pod.name, "resourceVersion": "99"})
        later["metadata"]["labels"]["trainingjob.dev/attempt"] = "2"
        scene.store.put({**later, "kind": "Pod"})
        return await text(path, query)

    scene.authority.text = replaced  # type: ignore[method-assign]
    status, told = await scene.get(LOG, "jo")
    assert (status, "replaced" in told["error"]) == (503, True)


async def test_a_kubelet_that_does_not_answer_holds_no_more_than_there_is_room_for(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "_SECONDS", 0.5)
    inside, most = 0, 0

    async def silent(*_: Any) -> str:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        try:
            await asyncio.sleep(60)
        finally:
            inside -= 1
        return ""

    scene.authority.text = silent  # type: ignore[method-assign]
    paths = [f"{OF}/instances/{number}/log" for number in range(3)]
    for _ in range(3):
        answers = await asyncio.gather(*(scene.get(path, "jo") for path in paths * 2))
        assert {status for status, _ in answers} == {503}
    assert 0 < most <= archive._OF_ONE_USER  # noqa: SLF001
    assert inside == 0


@pytest.mark.parametrize("what", ["instances/1/log", "events", "instances/1/events"])
async def test_to_get_the_job_is_not_enough(scene: Scene, what: str) -> None:
    status, told = await scene.get(f"{OF}/{what}", "blind")
    assert status == 403
    assert "kubectl auth can-i" in told["error"]
    assert scene.authority.read == []


@pytest.mark.parametrize("what", ["instances/1/log", "events", "instances/1/events"])
async def test_the_rights_to_these_alone_open_no_job(scene: Scene, what: str) -> None:
    scene.authority.may.remove(("jo", "lab", "mnist"))
    status, told = await scene.get(f"{OF}/{what}", "jo")
    assert (status, "get this TrainingJob" in told["error"]) == (403, True)
    assert scene.authority.read == []


async def test_strangers_get_nothing(scene: Scene) -> None:
    assert (await scene.get(LOG))[0] == 401
    assert (await scene.get(LOG, "nobody"))[0] == 401
    assert scene.authority.read == []


@pytest.mark.parametrize("instance", ["7", "-1", "01", "1e0", "%2e%2e", "9" * 40, "x"])
async def test_an_instance_that_is_none_has_no_log(scene: Scene, instance: str) -> None:
    assert (await scene.get(f"{OF}/instances/{instance}/log", "jo"))[0] == 404
    assert scene.authority.read == []


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (ApiError(403, "Forbidden", "cannot get pods/log"), 403, "rollCall.records"),
        (ApiError(400, "BadRequest", "container is waiting to start"), 404, "waiting to start"),
        (ApiError(404, "NotFound", "gone"), 404, "no pod"),
        (ApiError(500, "InternalError", "dial tcp 10.0.0.7:10250"), 503, "come again"),
    ],
    ids=["not allowed", "not begun", "gone", "no kubelet"],
)
async def test_what_stands_in_the_way_is_said(
    scene: Scene, error: ApiError, status: int, words: str
) -> None:
    scene.authority.logs[f"{PODS}/{pod_of(scene, 1).name}"] = error
    code, told = await scene.get(LOG, "jo")
    assert code == status
    assert words in told["error"]
    assert "10.0.0.7" not in told["error"]


async def test_events_are_those_of_the_job_the_newest_first(scene: Scene) -> None:
    times = [f"2026-11-30T10:{minute:02}:00Z" for minute in range(EVENTS + 3)]
    scene.authority.events = [an_event(UID, lastTimestamp=it) for it in reversed(times[:2])]
    scene.authority.events += [an_event(UID, lastTimestamp=it, count=3) for it in times[2:]]
    scene.authority.events.append(an_event("another", lastTimestamp="2027-01-01T00:00:00Z"))
    _, told = await scene.get(f"{OF}/events", "jo")
    assert [it["last"] for it in told["events"]] == times[: -EVENTS - 1 : -1]
    assert told["events"][0]["count"] == 3


async def test_of_very_many_events_the_newest_are_told(scene: Scene) -> None:
    hours = [f"2026-11-{day:02}T{hour:02}:00:00Z" for day in range(1, 29) for hour in range(24)]
    scene.authority.events = [an_event(UID, lastTimestamp=it) for it in 3 * hours]
    _, told = await scene.get(f"{OF}/events", "jo")
    assert {it["last"] for it in told["events"]} == set(hours[-17:])


async def test_newer_clients_write_events_otherwise(scene: Scene) -> None:
    series = {"count": 9, "lastObservedTime": "2026-11-30T10:09:00.000000Z"}
    scene.authority.events = [
        an_event(UID, eventTime="2026-11-30T10:00:00.000000Z", series=series),
        an_event(
            UID, eventTime="2026-11-30T10:01:00.000000Z", message="\x1b[31mred\n" + "x" * 5_000
        ),
        {"involvedObject": {"uid": UID}, "metadata": {}},
    ]
    _, told = await scene.get(f"{OF}/events", "jo")
    first, second, third = told["events"]
    assert (first["count"], first["last"]) == (9, "2026-11-30T10:09:00.000000Z")
    assert "\x1b" not in second["message"]
    assert len(second["message"]) <= 1_024
    assert (third["type"], third["message"], third["last"]) == ("", "", "")


async def test_what_was_read_before_something_happened_is_believed_no_more(scene: Scene) -> None:
    """A step makes no event, and costs no question to the API server."""
    path = f"{OF}/events"
    await scene.get(path, "jo")
    scene.authority.events = [an_event(UID, reason="OOMKilled")]
    body = scene.store.job(("lab", "mnist"))
    assert body is not None
    for version, change, seen in [
        ("98", {"training": {"step": 7}}, []),
        ("99", {"phase": "Failed"}, ["OOMKilled"]),
    ]:
        metadata = {**body["metadata"], "resourceVersion": version}
        status = {**body.get("status", {}), **change}
        scene.store.put_job({**body, "metadata": metadata, "status": status})
        _, told = await scene.get(path, "jo")
        assert [it["reason"] for it in told["events"]] == seen


async def test_a_pod_has_events_of_its_own(scene: Scene) -> None:
    pod = pod_of(scene, 1)
    scene.authority.events = [an_event(UID), an_event(pod.uid, reason="BackOff", type="Warning")]
    _, told = await scene.get(f"{OF}/instances/1/events", "jo")
    assert [it["reason"] for it in told["events"]] == ["BackOff"]


async def test_a_spec_that_cannot_be_read_leaves_its_events_and_logs(scene: Scene) -> None:
    body = scene.store.job(("lab", "mnist"))
    assert body is not None
    body["spec"]["PARALLEL_INSTANCES"] = "many"
    scene.authority.events = [an_event(UID, reason="InvalidSpec")]
    _, told = await scene.get(f"{OF}/events", "jo")
    assert [it["reason"] for it in told["events"]] == ["InvalidSpec"]
    scene.authority.logs[f"{PODS}/{pod_of(scene, 1).name}"] = "step 1\n"
    _, told = await scene.get(LOG, "jo")
    assert told["text"] == "step 1\n"
