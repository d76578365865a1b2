"""Logs and events on the page: for whoever may read them with kubectl, and no more than that."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from builders import UID
from handlers.pods import Scene, a_scene
from trainingjobs.cluster.errors import ApiError
from trainingjobs.cluster.records import EVENTS, KEPT

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
    assert query["container"] == "trainer"
    assert {"tailLines", "limitBytes"} <= set(query)
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
    assert [query["tailLines"] for _, query in scene.authority.read] == ["500", "20"]


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


async def test_a_pod_has_events_of_its_own(scene: Scene) -> None:
    pod = pod_of(scene, 1)
    scene.authority.events = [an_event(UID), an_event(pod.uid, reason="BackOff", type="Warning")]
    _, told = await scene.get(f"{OF}/instances/1/events", "jo")
    assert [it["reason"] for it in told["events"]] == ["BackOff"]


async def test_a_spec_that_cannot_be_read_leaves_its_events(scene: Scene) -> None:
    body = scene.store.job(("lab", "mnist"))
    assert body is not None
    body["spec"]["PARALLEL_INSTANCES"] = "many"
    scene.authority.events = [an_event(UID, reason="InvalidSpec")]
    _, told = await scene.get(f"{OF}/events", "jo")
    assert [it["reason"] for it in told["events"]] == ["InvalidSpec"]
    status, said = await scene.get(LOG, "jo")
    assert (status, "cannot be read" in said["error"]) == (404, True)
