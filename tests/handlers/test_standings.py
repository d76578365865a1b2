"""Status out: to whoever may get the job, all of it; to others, not even whether it is there."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from builders import a_body
from handlers.pods import Scene, a_report, a_scene, a_token

AT = "/api/v1/namespaces/lab/trainingjobs/{}"
JO = {"username": "jo", "uid": "7", "groups": ["a"], "extra": {"scopes": ["x"]}}


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    async with a_scene(api_tokens=True) as scene:
        scene.authority.users |= {"jo": JO, "no": {"username": "no"}}
        scene.authority.may |= {("jo", "lab", "mnist"), ("jo", "lab", "none")}
        yield scene


async def test_all_ranks_are_told(scene: Scene) -> None:
    for rank in (0, 2):
        said = a_report(process=f"p-{rank}", rank=rank, stage="joining", waitsIn="all_reduce")
        await scene.report(said, token=a_token(f"pod-{rank}", name=f"mnist-{rank}"))
    body = a_body()
    body["metadata"]["resourceVersion"] = "11"
    scene.store.put_job({**body, "status": {"phase": "Running", "attempt": 1}})
    code, whole = await scene.get(AT.format("mnist"), "jo")
    assert code == 200
    assert whole["status"] == {"phase": "Running", "attempt": 1}
    assert [(it["rank"], it["pod"], it["stage"]) for it in whole["ranks"]] == [
        (0, "mnist-0", "joining"),
        (1, "mnist-1", None),
        (2, "mnist-2", "joining"),
    ]
    assert set(whole) == {"status", "ranks", "findings"}


async def test_ranks_that_stand_together_are_told_once(scene: Scene) -> None:
    frames = [{"file": "train.py", "line": 41, "function": "train", "user": True}]
    for rank in (0, 2):
        said = a_report(process=f"p-{rank}", rank=rank, stage="joining", frames=frames)
        await scene.report(said, token=a_token(f"pod-{rank}", name=f"mnist-{rank}"))
    code, found = await scene.get(f"{AT.format('mnist')}/stacks", "jo")
    assert (code, found["unheard"], found["attempt"]) == (200, "1", 1)
    (stack,) = found["stacks"]
    assert (stack["ranks"], stack["frames"]) == ("0,2", frames)


@pytest.mark.parametrize("name", ["mnist", "none"])
async def test_who_may_not_get_the_job_gets_no_stacks(scene: Scene, name: str) -> None:
    assert (await scene.get(f"{AT.format(name)}/stacks"))[0] == 401
    assert (await scene.get(f"{AT.format(name)}/stacks", "no"))[0] == 403


async def test_a_job_that_nobody_reports_of_has_its_status(scene: Scene) -> None:
    assert await scene.get(AT.format("mnist"), "jo") == (
        200,
        {"status": {}, "ranks": [], "findings": []},
    )


@pytest.mark.parametrize("name", ["mnist", "none", "other", "-", "%00", "a" * 250])
async def test_who_may_not_learns_nothing(scene: Scene, name: str) -> None:
    assert (await scene.get(AT.format(name)))[0] == 401
    assert (await scene.get(AT.format(name), "unknown"))[0] == 401
    code, said = await scene.get(AT.format(name), "no")
    assert (code, "may not get" in said["error"]) == (403, True)


async def test_who_may_is_told_that_there_is_none(scene: Scene) -> None:
    assert (await scene.get(AT.format("none"), "jo"))[0] == 404
    assert (await scene.get(AT.format("other"), "jo"))[0] == 403


async def test_the_api_server_is_asked_about_the_whole_user(scene: Scene) -> None:
    await scene.get(AT.format("mnist"), "jo")
    (_, who), (_, what) = scene.authority.calls
    assert who == {"token": "jo"}
    assert (what["user"], what["uid"], what["groups"]) == ("jo", "7", ["a"])
    assert what["extra"] == {"scopes": ["x"]}
    assert what["resourceAttributes"]["verb"] == "get"


async def test_questions_at_one_time_are_asked_once(scene: Scene) -> None:
    answers = await asyncio.gather(*[scene.get(AT.format("mnist"), "jo") for _ in range(20)])
    assert {code for code, _ in answers} == {200}
    assert scene.authority.asked() == scene.authority.asked("subjectaccessreviews") == 1


async def test_a_pods_token_for_reports_opens_nothing(scene: Scene) -> None:
    assert (await scene.get(AT.format("mnist"), a_token()))[0] == 401


AUDIENCE = "trainingjob.dev/status"
ACCOUNT = ("system:serviceaccount:lab:default", "lab", "mnist")


async def test_a_token_that_is_made_for_this_alone_opens_it(scene: Scene) -> None:
    scene.authority.may.add(ACCOUNT)
    assert (await scene.get(AT.format("mnist"), a_token(aud=[AUDIENCE])))[0] == 200
    assert scene.authority.calls[0][1]["audiences"] == [AUDIENCE]


@pytest.mark.parametrize(
    "token", ["jo", a_token(), a_token(aud=["https://kubernetes.default.svc"]), a_token(aud=[])]
)
async def test_a_token_for_more_than_this_is_refused_where_it_is_not_asked_for(token: str) -> None:
    """It has come over plain HTTP; the API server is not even asked whose it is."""
    async with a_scene() as scene:
        scene.authority.users["jo"] = JO
        scene.authority.may |= {("jo", "lab", "mnist"), ACCOUNT}
        code, said = await scene.get(AT.format("mnist"), token)
        assert (code, f"--audience {AUDIENCE}" in said["error"]) == (401, True)
        assert scene.authority.calls == []
        assert (await scene.get(AT.format("mnist"), a_token(aud=[AUDIENCE])))[0] == 200


async def test_without_an_api_server_nothing_is_told(scene: Scene) -> None:
    scene.authority.down = True
    code, said = await scene.get(AT.format("mnist"), "jo")
    assert (code, "API server" in said["error"]) == (503, True)


async def test_an_error_of_our_own_is_logged_and_said_to_be_one(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    scene.authority.tokenreviews = lambda _: 1 / 0  # type: ignore[assignment, method-assign]
    code, said = await scene.get(AT.format("mnist"), "odd")
    assert (code, said) == (500, {"error": "this is an error of the operator: see its log"})
    assert "ZeroDivisionError" in caplog.text


async def test_a_spec_that_cannot_be_read_is_said_to_be_so(scene: Scene) -> None:
    body: Any = a_body()
    body["metadata"]["resourceVersion"] = "11"
    body["spec"]["PARALLEL_INSTANCES"] = 0
    scene.store.put_job(body)
    code, said = await scene.get(AT.format("mnist"), "jo")
    assert (code, "cannot be read" in said["error"]) == (404, True)


async def test_an_answer_is_made_once_a_second(scene: Scene) -> None:
    await scene.get(AT.format("mnist"), "jo")
    await scene.report()
    assert (await scene.get(AT.format("mnist"), "jo"))[1]["ranks"] == []
    await asyncio.sleep(1.1)
    assert (await scene.get(AT.format("mnist"), "jo"))[1]["ranks"] != []


async def test_the_description_is_there_for_everybody(scene: Scene) -> None:
    code, document = await scene.get("/openapi.json")
    assert (code, document["openapi"]) == (200, "3.1.0")
    assert scene.authority.calls == []
