"""Messages beside the work on jobs: sent once, tried again, given up in words."""

import asyncio
import base64
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from builders import NOW, a_body
from status.told import a_told_job, over, stalls
from trainingjobs.cluster import notifier
from trainingjobs.cluster.errors import ApiError, WebhookError
from trainingjobs.cluster.notifier import Notifier
from trainingjobs.model.job import Invalid, TrainingJob, parse
from trainingjobs.model.notice import Notice
from trainingjobs.model.status import Phase

URL = "https://hooks.example/T0/secret"


class Post:
    """Whoever listens: refuses as often as it is told to."""

    def __init__(self, *refusals: WebhookError) -> None:
        self.refusals, self.sent = list(refusals), list[tuple[str, Any]]()
        self.asked = 0

    async def send(self, url: str, body: dict[str, Any]) -> None:
        """Take it, or not."""
        self.asked += 1
        if self.refusals:
            raise self.refusals.pop(0)
        self.sent.append((url, body))


class Secrets:
    """An API server with one Secret."""

    def __init__(self, answer: Any = URL) -> None:
        self.answer = answer

    async def request(self, method: str, path: str) -> Any:
        """The Secret, by its name alone."""
        assert (method, path) == ("GET", "/api/v1/namespaces/lab/secrets/hook")
        if isinstance(self.answer, Exception):
            raise self.answer
        if isinstance(self.answer, str):
            return {"data": {"url": base64.b64encode(self.answer.encode()).decode()}}
        return self.answer


class Desk:
    """A notifier and all that it says."""

    def __init__(
        self, sender: Post | None, secrets: Secrets | None = None, *, leads: bool = True
    ) -> None:
        self.leads = leads
        self.notices: list[Notice] = []
        self.woken: list[Any] = []
        self.notifier = Notifier(
            api=secrets or Secrets(),  # type: ignore[arg-type]
            webhook=sender,
            recorder=self,
            wake=self.woken.append,
            leads=lambda: self.leads,
            clock=lambda: NOW,
        )

    async def post(self, metadata: Any, notices: Iterable[Notice], attempt: int = 0) -> None:
        """An event."""
        assert (metadata["name"], attempt) == ("mnist", 1)
        self.notices += notices

    async def quiet(self) -> None:
        """Wait until nothing is on its way."""
        while self.notifier._going:  # noqa: SLF001
            await asyncio.wait(self.notifier._going.values())  # noqa: SLF001
            await asyncio.sleep(0)

    async def settle(self, job: TrainingJob) -> TrainingJob:
        """The job after its messages went, and its status was written."""
        self.notifier.note(job, job.status)
        await self.quiet()
        return replace(job, status=self.notifier.note(job, job.status))


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifier, "_PAUSES", (0.0, 0.0))


async def test_a_finish_is_told_once() -> None:
    post = Post()
    desk = Desk(post)
    job = await desk.settle(a_told_job(**over()))
    assert (job.status.notified, desk.woken) == (["Finished"], [("lab", "mnist")])
    for _ in range(3):
        job = await desk.settle(job)
    assert post.sent == [(URL, {"text": "lab/mnist has failed: rank 1 fell"})]
    assert desk.notices == []


async def test_many_looks_send_one_message() -> None:
    post = Post()
    desk, job = Desk(post), a_told_job(**over())
    for _ in range(5):
        desk.notifier.note(job, job.status)
    await desk.settle(job)
    # the status was not written yet: what was told stays known
    assert desk.notifier.note(job, job.status).notified == ["Finished"]
    await desk.settle(job)
    assert len(post.sent) == 1


async def test_a_new_leader_knows_from_the_status() -> None:
    first, second = Post(), Post()
    job = await Desk(first).settle(a_told_job(**over()))
    await Desk(second).settle(job)
    assert (len(first.sent), second.asked) == (1, 0)


async def test_each_attempts_stall_is_told() -> None:
    post = Post()
    desk = Desk(post)
    job = await desk.settle(a_told_job(**stalls()))
    again = a_told_job(**stalls(2, notified=job.status.notified))
    job = await desk.settle(again)
    assert (len(post.sent), job.status.notified) == (2, ["Stalled-2"])


async def test_what_may_pass_is_tried_again() -> None:
    post = Post(WebhookError("busy"), WebhookError("busy"))
    desk = Desk(post)
    await desk.settle(a_told_job(**over()))
    assert (post.asked, len(post.sent), desk.notices) == (3, 1, [])


@pytest.mark.parametrize(
    ("post", "secrets", "words", "asked"),
    [
        (Post(*[WebhookError("busy")] * 9), Secrets(), "busy", 3),
        (Post(WebhookError("no such place", forever=True)), Secrets(), "no such place", 1),
        (None, Secrets(), "notify.enabled", 0),
        (Post(), Secrets(ApiError(403, "Forbidden", "no")), "may not get the Secret hook", 0),
        (Post(), Secrets(ApiError(404, "NotFound", "no")), "Secret hook is not there", 0),
        (Post(), Secrets(ApiError(0, "Unreachable", "no")), "could not be read", 0),
        (Post(), Secrets({"data": {}}), "has no key url", 0),
        (Post(), Secrets({}), "has no key url", 0),
        (Post(), Secrets({"data": {"url": "/w=="}}), "has no text", 0),
    ],
)
async def test_what_is_given_up_is_an_event_and_not_tried_for_ever(
    post: Post | None, secrets: Secrets, words: str, asked: int
) -> None:
    desk = Desk(post, secrets)
    job = await desk.settle(await desk.settle(a_told_job(**over())))
    (notice,) = desk.notices
    assert (notice.reason, notice.type, words in notice.message) == ("NotNotified", "Warning", True)
    assert "secret" not in notice.message
    assert (0 if post is None else post.asked) == asked
    assert job.status.notified == ["Finished"]


async def test_who_leads_no_more_leaves_it_to_the_next() -> None:
    post = Post()
    desk = Desk(post, leads=False)
    job = await desk.settle(a_told_job(**over(Phase.SUCCEEDED)))
    assert (post.asked, job.status.notified, desk.woken) == (0, [], [])


async def test_an_error_of_our_own_is_given_up_without_a_word_of_the_address(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Odd(Post):
        async def send(self, url: str, body: dict[str, Any]) -> None:
            del body
            raise RuntimeError(url)

    desk = Desk(Odd())
    job = await desk.settle(a_told_job(**over()))
    (notice,) = desk.notices
    assert "an error of the operator (RuntimeError)" in notice.message
    assert "hooks.example" not in caplog.text + notice.message
    assert job.status.notified == ["Finished"]


async def test_one_namespace_keeps_no_other_waiting() -> None:
    class Slow(Post):
        now, most = 0, 0

        async def send(self, url: str, body: dict[str, Any]) -> None:
            self.now += 1
            self.most = max(self.most, self.now)
            await asyncio.sleep(0.01)
            self.now -= 1
            await super().send(url, body)

    slow = Slow()
    desk = Desk(slow)
    for number in range(100):
        job = replace(a_told_job(**over()), uid=f"uid-{number}")
        desk.notifier.note(job, job.status)
    await desk.quiet()
    assert (slow.most, len(slow.sent)) == (2, 64)
    # the others are due again
    job = replace(a_told_job(**over()), uid="uid-99")
    desk.notifier.note(job, job.status)
    await desk.quiet()
    assert len(slow.sent) == 65


@pytest.mark.parametrize(
    "name", ["../configmaps/x", "../../other/secrets/x", "x?watch=1", "x/y", "", ".", "..", "%2e"]
)
def test_no_name_of_a_secret_leads_elsewhere(name: str) -> None:
    assert isinstance(parse(a_body(notify={"secretName": name})), Invalid)


async def test_a_stop_leaves_nothing_going() -> None:
    class Slow(Post):
        async def send(self, url: str, body: dict[str, Any]) -> None:
            del url, body
            await asyncio.sleep(60)

    desk, job = Desk(Slow()), a_told_job(**over())
    desk.notifier.note(job, job.status)
    await asyncio.sleep(0)
    await desk.notifier.stop()
    assert desk.notifier._going == {}  # noqa: SLF001
    assert desk.notifier.note(job, job.status).notified == []
    await desk.notifier.stop()


async def test_a_job_that_asks_for_nothing_costs_nothing() -> None:
    job = a_told_job(None, **over())
    desk = Desk(Post())
    assert desk.notifier.note(job, job.status) is job.status


async def test_no_word_of_the_address_gets_into_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    await Desk(Post(*[WebhookError("busy")] * 9)).settle(a_told_job(**over()))
    await Desk(Post()).settle(a_told_job(**over()))
    assert "hooks.example" not in caplog.text
    assert "told of Finished" in caplog.text
