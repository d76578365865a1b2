"""Reports in, over real connections: who may speak, what is taken, what is answered."""

import asyncio
import json
from typing import Any

import pytest

from builders import UID, a_body
from cluster.raw import raw_pod
from handlers.pods import Scene, a_report, a_scene, a_store, a_token, roll
from trainingjobs.handlers import bells
from trainingjobs.handlers.doors import Limits
from trainingjobs.model.report import MAX_BODY, Stage

JOB = ("lab", "mnist")


async def test_a_report_is_remembered_and_answered_with_the_rhythm() -> None:
    async with a_scene() as scene:
        assert await scene.report(a_report(stage="joining")) == (200, {"interval": 5.0})
        (entry,) = roll(scene)
        assert (entry.instance, entry.pod_uid, entry.report.stage) == (0, "pod-0", Stage.JOINING)
        assert scene.woken == [JOB]


async def test_each_pod_speaks_for_itself() -> None:
    async with a_scene(a_store(processesPerInstance=2)) as scene:
        for number in range(6):
            pod = number // 2
            token = a_token(f"pod-{pod}", name=f"mnist-{pod}")
            said = a_report(process=f"p-{number}", rank=number)
            assert (await scene.report(said, token=token))[0] == 200
        assert [(it.instance, it.report.rank) for it in roll(scene)] == [
            (number // 2, number) for number in range(6)
        ]
        assert scene.authority.asked() == 3


@pytest.mark.parametrize(
    ("rank", "words"),
    [
        (1, "which are 2 to 3: set spec.processesPerInstance"),
        (4, "rank 4 is not one of this pod's"),
        (10_000_000, "rank 10000000 is not one of this pod's"),
    ],
)
async def test_a_rank_of_another_pod_is_refused(rank: int, words: str) -> None:
    async with a_scene(a_store(processesPerInstance=2)) as scene:
        token = a_token("pod-1", name="mnist-1")
        code, said = await scene.report(a_report(rank=rank), token=token)
        assert (code, words in said["error"]) == (400, True)
        assert roll(scene) == ()


@pytest.mark.parametrize(
    ("rank", "world", "code"),
    [
        (2, 6, 200),
        (3, 6, 200),
        (0, 6, 400),
        (4, 6, 400),
        (8, 24, 200),
        (15, 24, 200),
        (16, 24, 400),
        (9, 27, 400),
        (2, 7, 400),
        (2, None, 400),
        (2, 0, 400),
    ],
    ids=[
        "its first of two", "its last of two", "the one's before", "the one's behind",
        "its first of eight", "its last of eight", "another's of eight", "more than eight",
        "no share", "none", "no number",
    ],
)  # fmt: skip
async def test_ranks_that_a_pod_starts_by_itself_are_heard(
    rank: int, world: int | None, code: int
) -> None:
    """As a script's own torchrun with two processes does, where the job knows of one."""
    async with a_scene() as scene:
        token = a_token("pod-1", name="mnist-1")
        said = await scene.report(a_report(rank=rank, worldSize=world), token=token)
        assert said[0] == code
        assert [entry.report.rank for entry in roll(scene)] == [rank] * (code == 200)


async def test_all_that_a_pod_starts_by_itself_are_remembered() -> None:
    async with a_scene() as scene:
        token = a_token("pod-1", name="mnist-1")
        agent = a_report(process="agent", rank=None, launcher=True)
        ranks = [a_report(process=f"p-{rank}", rank=rank, worldSize=24) for rank in range(8, 16)]
        for said in (agent, *ranks, *ranks):
            assert (await scene.report(said, token=token))[0] == 200
        assert {entry.report.rank for entry in roll(scene)} == {None, *range(8, 16)}


async def test_a_process_without_a_rank_is_heard() -> None:
    async with a_scene() as scene:
        assert (await scene.report(a_report(rank=None, launcher=True)))[0] == 200
        assert roll(scene)[0].report.launcher


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ({}, "Authorization: Bearer TOKEN"),
        ({"Authorization": "Basic am86am8="}, "Authorization: Bearer TOKEN"),
        ({"Authorization": "Bearer "}, "Authorization: Bearer TOKEN"),
        ({"Authorization": "Bearer nonsense"}, "bound to a pod"),
        ({"Authorization": f"Bearer {a_token(exp=1)}"}, "expired"),
        ({"Authorization": f"Bearer {a_token(aud=['else'])}"}, "audience"),
    ],
)
async def test_whoever_proves_nothing_is_told_what_to_show(
    header: dict[str, str], words: str
) -> None:
    async with a_scene() as scene:
        at = f"{scene.url}/api/v1/reports"
        async with scene.http.post(at, json=a_report(), headers=header) as answer:
            assert answer.status == 401
            assert answer.headers["WWW-Authenticate"] == "Bearer"
            assert words in (await answer.json())["error"]
        assert scene.authority.calls == []


async def test_the_scheme_is_written_in_any_case() -> None:
    async with a_scene() as scene:
        header = {"Authorization": f"bEARER {a_token()}"}
        assert (await scene.report(headers=header))[0] == 200


async def test_a_token_that_the_api_server_does_not_take_is_refused() -> None:
    async with a_scene() as scene:
        scene.authority.revoked.add(a_token())
        for _ in range(5):
            assert (await scene.report())[0] == 401
        assert scene.authority.asked() == 1


async def test_without_an_api_server_pods_are_asked_to_come_again() -> None:
    async with a_scene() as scene:
        scene.authority.down = True
        code, _, headers = await scene.call()
        assert (code, headers["Retry-After"]) == (503, "5")
        scene.authority.down = False
        assert (await scene.report())[0] == 200


async def test_an_operator_that_has_just_started_refuses_nobody() -> None:
    async with a_scene() as scene:
        scene.ready = False
        code, _, headers = await scene.call(token=a_token("pod-late"))
        assert (code, headers["Retry-After"]) == (503, "5")
        scene.ready = True
        code, _, headers = await scene.call(token=a_token("pod-late"))
        assert (code, headers["Retry-After"]) == (503, "1")


async def test_a_pod_that_is_gone_is_refused_with_its_good_token() -> None:
    async with a_scene() as scene:
        assert (await scene.report())[0] == 200
        scene.store.drop({**raw_pod(0, version="6"), "kind": "Pod"})
        assert (await scene.report())[0] == 403


async def test_a_pod_of_an_attempt_that_is_over_is_refused() -> None:
    async with a_scene() as scene:
        body = a_body()
        body["metadata"]["resourceVersion"] = "11"
        scene.store.put_job({**body, "status": {"attempt": 2}})
        code, said = await scene.report()
        assert (code, "attempt 1, which is over" in said["error"]) == (403, True)
        assert scene.authority.asked() == 1


async def test_who_has_proved_nothing_is_told_nothing_of_pods() -> None:
    """Whether a pod is there, or of which attempt, is for those who show its token."""
    async with a_scene() as scene:
        body = a_body()
        body["metadata"]["resourceVersion"] = "11"
        scene.store.put_job({**body, "status": {"attempt": 2}})
        scene.store.drop({**raw_pod(1, version="6"), "kind": "Pod"})
        for number in range(3):
            token = a_token(f"pod-{number}", name=f"mnist-{number}")
            scene.authority.revoked.add(token)
            code, said = await scene.report(token=token)
            assert "attempt" not in said["error"]
            assert "gone" not in said["error"]
            assert code in {401, 503}


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ({"headers": {"Content-Type": "text/plain"}}, 415, "application/json"),
        ({"headers": {"Content-Encoding": "gzip"}}, 415, "as it is"),
        ({"data": b""}, 400, "Invalid JSON"),
        ({"data": b"[]"}, 400, "object"),
        ({"data": b"{}"}, 400, "version: Field required"),
        ({"data": b"x" * (MAX_BODY + 1)}, 413, str(MAX_BODY)),
        ({"report": a_report(version=2)}, 400, "version: "),
        ({"report": a_report(stage="asleep")}, 400, "stage: "),
        ({"report": a_report(cpu="1")}, 400, "cpu: "),
        ({"report": a_report(told={"metrics": {"a b": 1}})}, 400, "told.metrics"),
    ],
)
async def test_what_is_no_report_is_named(options: Any, code: int, words: str) -> None:
    async with a_scene() as scene:
        answered, said = await scene.report(**options)
        assert (answered, words in said["error"]) == (code, True), said
        assert roll(scene) == ()


async def test_a_report_as_large_as_may_be_is_taken() -> None:
    async with a_scene() as scene:
        text = json.dumps(a_report(unknown=""))
        full = text.replace('""', '"' + "x" * (MAX_BODY - len(text)) + '"').encode()
        assert len(full) == MAX_BODY
        assert (await scene.report(data=full))[0] == 200
        assert (await scene.report(data=full + b" "))[0] == 413


async def test_languages_that_write_all_numbers_with_a_point_are_understood() -> None:
    async with a_scene() as scene:
        assert (await scene.report(a_report(rank=0.0, steps=7.0, version=1.0)))[0] == 200
        assert roll(scene)[0].report.steps == 7
        assert (await scene.report(a_report(steps=7.5)))[0] == 400


async def test_numbers_that_json_lacks_travel_as_words() -> None:
    async with a_scene() as scene:
        told = {"metrics": {"loss": "NaN", "norm": "Infinity", "least": "-Infinity"}}
        assert (await scene.report(a_report(told=told)))[0] == 200
        metrics = roll(scene)[0].report.told.metrics
        assert [str(metrics[it]) for it in told["metrics"]] == ["nan", "inf", "-inf"]


async def test_a_pod_that_reports_too_often_is_told_so_and_no_other_pod() -> None:
    async with a_scene() as scene:
        answers = [await scene.call() for _ in range(40)]
        codes = [code for code, _, _ in answers]
        assert codes[:24] == [200] * 24
        assert 429 in codes
        assert int(answers[-1][2]["Retry-After"]) >= 1
        other = a_token("pod-1", name="mnist-1")
        assert (await scene.report(a_report(rank=1), token=other))[0] == 200


async def test_every_answer_says_what_it_is() -> None:
    async with a_scene() as scene:
        for path, code in (("/none", 404), ("/api/v1/reports", 405), ("/openapi.json", 200)):
            async with scene.http.get(scene.url + path) as answer:
                assert answer.status == code
                assert answer.content_type == "application/json"
                assert answer.headers["X-Content-Type-Options"] == "nosniff"
                assert "aiohttp" not in answer.headers["Server"]
                assert await answer.json()


async def test_requests_are_counted_by_their_answer() -> None:
    async with a_scene() as scene:

        def counted(route: str, code: str) -> float | None:
            labels = {"route": route, "code": code}
            name = "trainingjob_operator_rollcall_requests_total"
            return scene.registry.get_sample_value(name, labels)

        assert counted("reports", "200") == 0
        await scene.report()
        await scene.report(data=b"{")
        await scene.get("/nowhere")
        assert [counted(*it) for it in (("reports", "200"), ("reports", "400"))] == [1, 1]
        assert counted("other", "404") == 1
        name = "trainingjob_operator_rollcall_processes"
        assert scene.registry.get_sample_value(name) == 1


async def test_health_tells_when_nobody_listens() -> None:
    async with a_scene() as scene:
        assert scene.service.silent() is None
        await scene.service.stop()
        assert scene.service.silent() is not None


async def test_many_processes_are_asked_to_report_less_often() -> None:
    async with a_scene(a_store(processesPerInstance=8), rate=1.0) as scene:
        for number in range(8):
            said = a_report(process=f"p-{number}", rank=number)
            code, answer = await scene.report(said)
            assert (code, answer["interval"]) == (200, max(5.0, number + 1.0))


async def test_requests_beyond_what_can_be_worked_on_are_asked_to_come_again() -> None:
    limits = Limits(penalty=0, requests=2, requests_of_one_address=2)
    async with a_scene(limits=limits) as scene:
        started, go = asyncio.Event(), asyncio.Event()
        ask = scene.authority.request

        async def slowly(*args: Any, **options: Any) -> Any:
            started.set()
            await go.wait()
            return await ask(*args, **options)

        scene.authority.request = slowly  # type: ignore[method-assign]
        waiting = [asyncio.create_task(scene.call()) for _ in range(2)]
        await started.wait()
        code, _, headers = await _until_refused(scene)
        assert (code, headers["Retry-After"]) == (503, "1")
        go.set()
        assert [code for code, _, _ in await asyncio.gather(*waiting)] == [200, 200]


async def _until_refused(scene: Scene) -> tuple[int, Any, Any]:
    while True:
        answer = await scene.call()
        if answer[0] == 503:
            return answer


async def test_the_same_report_again_wakes_nobody() -> None:
    async with a_scene() as scene:
        for seconds in (1, 2, 3):
            said = a_report(stageSeconds=seconds, quietSeconds=seconds, cpu=seconds)
            assert (await scene.report(said))[0] == 200
        assert scene.woken == [JOB]


async def test_reports_are_forgotten_with_their_job() -> None:
    async with a_scene() as scene:
        await scene.report()
        scene.rolls.forget(UID)
        assert roll(scene) == ()


def test_the_rhythm_of_looks_is_slower_than_the_reports() -> None:
    """However many jobs and ranks report, reports for progress alone make few looks a second."""
    for jobs in (1, 10, 100, 1000, 10_000):
        for ranks in (1, 8, 100, 10_000):
            progress = bells.PROGRESS.gap(ranks, jobs)
            assert jobs / progress <= 20
            assert bells.URGENT.gap(ranks, jobs) <= bells.NEWS.gap(ranks, jobs) <= progress
