"""Messages beside the work on jobs: sent once, tried again, given up in words."""

import asyncio
import base64
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from builders import NOW, a_body, at
from status.told import a_told_job, over, stalls, stood
from trainingjobs.cluster import notifier
from trainingjobs.cluster.errors import ApiError, NotLeadingError, WebhookError
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


class Crowd(Desk):
    """A namespace of jobs that end at one time, and get a look only where they are woken."""

    def __init__(self, post: Post, jobs: int) -> None:
        super().__init__(post)
        self.now = NOW
        self.notifier.clock = lambda: self.now
        self.jobs = {
            ("lab", f"job-{number}"): replace(
                a_told_job(**over()), name=f"job-{number}", uid=f"uid-{number}"
            )
            for number in range(jobs)
        }
        self.looks = 0

    def look(self, key: Any) -> None:
        """What a reconcile does: note, and write."""
        self.looks += 1
        job = self.jobs.get(key)
        if job is None:
            self.notifier.forget(key[1].replace("job", "uid"))
        else:
            self.jobs[key] = replace(job, status=self.notifier.note(job, job.status))

    async def begin(self) -> None:
        """Each job's one look."""
        for key in list(self.jobs):
            self.look(key)

    async def go_on(self) -> None:
        """Look at who is woken, until nobody is."""
        while self.woken or self.notifier._going:  # noqa: SLF001
            while self.woken:
                self.look(self.woken.pop(0))
            await asyncio.sleep(0)

    async def post(self, metadata: Any, notices: Iterable[Notice], attempt: int = 0) -> None:
        """An event about any of them."""
        del metadata, attempt
        self.notices += notices

    @property
    def told(self) -> int:
        """Of how many jobs the status says so."""
        return sum(job.status.notified == ["Finished"] for job in self.jobs.values())

    @property
    def empty(self) -> bool:
        """Nothing is kept of any job."""
        own = self.notifier
        waits = own._turns._waiting or own._turns._lines  # noqa: SLF001
        return not (own._going or own._counts or own._rooms or own._gone or waits)  # noqa: SLF001


async def test_nobody_who_finds_no_room_is_lost() -> None:
    post = Post()
    crowd = Crowd(post, 200)
    await crowd.begin()
    await crowd.go_on()
    assert (len(post.sent), crowd.told, crowd.notices) == (200, 200, [])
    # one look at first, one in its turn, one to write down that it was told; few are in vain
    assert 200 * 3 - 64 <= crowd.looks <= 200 * 3 + 64
    assert crowd.empty


async def test_who_is_gone_or_has_nothing_to_tell_keeps_nobody_waiting() -> None:
    post = Post()
    crowd = Crowd(post, 200)
    await crowd.begin()
    for number in range(64, 190):
        key = ("lab", f"job-{number}")
        if number % 2:
            del crowd.jobs[key]
        else:
            told = a_told_job(**over(notified=["Finished"]))
            crowd.jobs[key] = replace(told, name=key[1], uid=f"uid-{number}")
    await crowd.go_on()
    assert (len(post.sent), crowd.told) == (64 + 10, len(crowd.jobs))
    assert crowd.empty


async def test_a_long_wait_makes_no_old_news() -> None:
    post = Post()
    crowd = Crowd(post, 100)
    await crowd.begin()
    crowd.now = at(7200)
    await crowd.go_on()
    assert (len(post.sent), crowd.told) == (100, 100)


async def test_what_is_given_up_makes_room_as_well() -> None:
    crowd = Crowd(Post(*[WebhookError("gone", forever=True)] * 100), 100)
    await crowd.begin()
    await crowd.go_on()
    assert (len(crowd.notices), crowd.told, crowd.empty) == (100, 100, True)


async def test_of_a_job_that_went_meanwhile_nothing_is_kept() -> None:
    post = Post()
    desk, job = Desk(post), a_told_job(**over())
    desk.notifier.note(job, job.status)
    desk.notifier.forget(job.uid)
    await desk.quiet()
    own = desk.notifier
    assert (len(post.sent), desk.woken, own._done, own._gone) == (1, [], {}, set())  # noqa: SLF001
    # it was not gone after all
    desk.notifier.note(job, job.status)
    desk.notifier.forget(job.uid)
    desk.notifier.note(job, job.status)
    await desk.quiet()
    assert desk.woken == [job.key]


async def test_who_loses_the_lead_sends_nothing_that_waited() -> None:
    class Loses(Post):
        async def send(self, url: str, body: dict[str, Any]) -> None:
            await super().send(url, body)
            desk.leads = False

    class Slow(Secrets):
        async def request(self, method: str, path: str) -> Any:
            await asyncio.sleep(0)
            return await super().request(method, path)

    post = Loses()
    desk = Desk(post, Slow())
    for number in range(10):
        job = replace(a_told_job(**over()), uid=f"uid-{number}")
        desk.notifier.note(job, job.status)
    await desk.quiet()
    assert (len(post.sent), desk.notices) == (1, [])


async def test_the_lead_may_go_while_the_secret_is_asked_for() -> None:
    class Slow(Secrets):
        async def request(self, method: str, path: str) -> Any:
            desk.leads = False
            return await super().request(method, path)

    post = Post()
    desk = Desk(post, Slow())
    job = await desk.settle(a_told_job(**over()))
    assert (post.asked, job.status.notified) == (0, [])


async def test_what_no_event_could_be_posted_about_was_not_given_up() -> None:
    class Fenced(Desk):
        async def post(self, metadata: Any, notices: Iterable[Notice], attempt: int = 0) -> None:
            del metadata, notices, attempt
            raise NotLeadingError

    desk = Fenced(Post(WebhookError("no", forever=True)))
    job = await desk.settle(a_told_job(**over()))
    assert (job.status.notified, desk.woken) == ([], [])


async def test_a_stall_that_restarts_the_group_is_told_once() -> None:
    post = Post()
    desk = Desk(post)
    job = await desk.settle(a_told_job(**stood()))
    assert post.sent == [(URL, {"text": "lab/mnist has stalled: rank 1 stood at train.py:17"})]
    again = await desk.settle(job)
    assert (len(post.sent), again.status.notified) == (1, ["Stalled-1"])


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
