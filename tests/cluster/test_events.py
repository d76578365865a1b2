"""Events: one for each thing that is said, however often; and none of them matters."""

import asyncio

import pytest

from builders import NOW, a_body
from cluster.fakeapi import FakeApi
from trainingjobs.cluster import events
from trainingjobs.cluster.errors import ApiError
from trainingjobs.cluster.events import Recorder, event_name
from trainingjobs.model.notice import Notice

JOB = a_body()["metadata"]
NOTICE = Notice(type="Warning", reason="Restarting", message="rank 1 fell")


def recorder(api: FakeApi) -> Recorder:
    """A recorder in front of a fake server."""
    return Recorder(api, lambda: NOW, "operator-0")  # type: ignore[arg-type]


async def test_an_event_says_who_what_and_when() -> None:
    api = FakeApi()
    await recorder(api).post(JOB, [NOTICE])
    (event,) = api.objects.values()
    assert event["involvedObject"]["name"] == "mnist"
    assert event["involvedObject"]["kind"] == "TrainingJob"
    assert (event["type"], event["reason"], event["message"], event["count"]) == (
        "Warning",
        "Restarting",
        "rank 1 fell",
        1,
    )
    assert event["reportingComponent"] == "trainingjob-operator"
    assert event["lastTimestamp"] == "2026-03-01T12:00:00Z"


async def test_the_same_again_counts() -> None:
    api = FakeApi()
    told = recorder(api)
    await told.post(JOB, [NOTICE, NOTICE, NOTICE])
    (event,) = api.objects.values()
    assert event["count"] == 3
    assert [method for method, _ in api.calls] == ["POST", "PATCH", "PATCH"]


async def test_another_process_counts_on() -> None:
    api = FakeApi()
    await recorder(api).post(JOB, [NOTICE, NOTICE])
    await recorder(api).post(JOB, [NOTICE])
    (event,) = api.objects.values()
    assert event["count"] == 3


async def test_an_event_that_has_expired_is_posted_anew() -> None:
    api = FakeApi()
    told = recorder(api)
    await told.post(JOB, [NOTICE])
    api.objects.clear()
    await told.post(JOB, [NOTICE])
    (event,) = api.objects.values()
    assert event["count"] == 1


async def test_a_failure_to_post_does_not_matter(caplog: pytest.LogCaptureFixture) -> None:
    api = FakeApi()
    api.refuse = lambda *_: ApiError(403, "Forbidden", "no events here")
    await recorder(api).post(JOB, [NOTICE])
    assert "no events here" in caplog.text


async def test_a_server_that_does_not_answer_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Silent(FakeApi):
        async def request(self, *_: object, **__: object) -> dict[str, object]:  # type: ignore[override]
            await asyncio.Event().wait()
            return {}

    monkeypatch.setattr(events, "_SECONDS", 0.01)
    await recorder(Silent()).post(JOB, [NOTICE])


async def test_a_message_is_one_line_that_can_be_seen() -> None:
    """Whoever made it up: words of the API server's repeat what a template has."""
    api = FakeApi()
    evil = "admission webhook says \x1b]0;owned\x07\u202eno\r\n" + "x" * 5000
    await recorder(api).post(JOB, [Notice(type="Warning", reason="Forbidden", message=evil)])
    (event,) = api.objects.values()
    assert event["message"].isprintable()
    assert len(event["message"]) == 1024


async def test_a_message_with_changing_numbers_is_one_event() -> None:
    api = FakeApi()
    told = recorder(api)
    for number in range(5):
        message = f"exceeded quota, used: {number}"
        await told.post(JOB, [Notice(type="Warning", reason="QuotaExceeded", message=message)])
    (event,) = api.objects.values()
    assert (event["count"], event["message"]) == (5, "exceeded quota, used: 4")


async def test_each_attempt_has_its_own_events() -> None:
    api = FakeApi()
    told = recorder(api)
    for attempt in (1, 2, 2):
        await told.post(JOB, [NOTICE], attempt)
    assert sorted(event["count"] for event in api.objects.values()) == [1, 2]


async def test_another_process_says_the_latest_words() -> None:
    api = FakeApi()
    await recorder(api).post(JOB, [NOTICE])
    again = Notice(type="Warning", reason="Restarting", message="rank 2 fell")
    await recorder(api).post(JOB, [again])
    (event,) = api.objects.values()
    assert (event["count"], event["message"]) == (2, "rank 2 fell")


async def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "MAX_REMEMBERED", 3)
    api = FakeApi()
    told = recorder(api)
    await told.post(
        JOB, [Notice(type="Normal", reason=f"R{number}", message="") for number in range(10)]
    )
    assert len(told._counts) == 3  # noqa: SLF001 - memory is what this is about


def test_names_are_the_same_for_the_same_and_fit() -> None:
    other = Notice(type="Normal", reason="Running", message="rank 1 fell")
    again = Notice(type="Normal", reason="Restarting", message="rank 2 fell")
    assert event_name(JOB, NOTICE, 1) == event_name(JOB, again, 1)
    assert event_name(JOB, NOTICE, 1) != event_name(JOB, NOTICE, 2)
    assert event_name(JOB, NOTICE, 1) != event_name(JOB, other, 1)
    assert event_name({**JOB, "uid": "other"}, NOTICE, 1) != event_name(JOB, NOTICE, 1)
    assert len(event_name({**JOB, "name": "a" * 250}, NOTICE, 1)) < 253
