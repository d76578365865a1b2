"""One look per job at a time, each when it is due, whatever rings."""

import asyncio
import time
from collections.abc import Awaitable, Callable

import pytest
import uvloop

from handlers.instant import run
from trainingjobs.cluster.backoff import Backoff
from trainingjobs.handlers.workqueue import Queue, rest_after

Work = Callable[[str], Awaitable[float | None]]


class Desk:
    """A queue whose looks are written down with their times."""

    def __init__(self, took: float = 0.0, answers: tuple[float | None, ...] = ()) -> None:
        self.took = took
        self.answers = list(answers)
        self.failures = 0
        self.looks: list[tuple[str, float]] = []
        self.at_once: dict[str, int] = {}
        self.most_at_once = 0
        self.most_of_one = 0
        self.loop = asyncio.get_running_loop()
        self.began = self.loop.time()
        self.queue: Queue[str] = Queue(self.work, workers=3, backoff=Backoff(chance=lambda: 0.0))
        self.queue.start()

    async def work(self, key: str) -> float | None:
        """One look."""
        self.looks.append((key, round(self.loop.time() - self.began, 2)))
        self.at_once[key] = self.at_once.get(key, 0) + 1
        self.most_of_one = max(self.most_of_one, self.at_once[key])
        self.most_at_once = max(self.most_at_once, sum(self.at_once.values()))
        await asyncio.sleep(self.took)
        self.at_once[key] -= 1
        if self.failures:
            self.failures -= 1
            raise RuntimeError("the API server is out")
        return self.answers.pop(0) if self.answers else None

    async def after(self, seconds: float) -> list[float]:
        """The times of all looks when this time has passed."""
        await asyncio.sleep(seconds)
        return [time for _, time in self.looks]


def test_who_is_known_goes_first_and_keeps_nobody_out() -> None:
    """Else a job that runs says so only when the hundred that came after it have been made."""

    async def scenario() -> list[str]:
        looks: list[str] = []
        done = asyncio.Event()

        async def look(key: str) -> None:
            looks.append(key)
            if len(looks) == 10:
                done.set()

        queue: Queue[str] = Queue(look, workers=1, new=lambda key: key.startswith("new"))
        for key in ("new 1", "new 2", "new 3", *(f"known {n}" for n in range(1, 8))):
            queue.wake(key)
        assert queue.depth == 10
        queue.start()
        await done.wait()
        await queue.stop()
        return looks

    known = [f"known {n}" for n in range(1, 8)]
    assert run(scenario()) == [*known[:4], "new 1", *known[4:], "new 2", "new 3"]


def test_looks_that_never_wait_let_others_in_between() -> None:
    """Else who renews the lease starves while a new leader looks at ten thousand jobs."""

    async def scenario() -> None:
        looked = 0

        async def look(_: int) -> None:
            nonlocal looked
            looked += 1

        queue: Queue[int] = Queue(look, workers=16)
        for key in range(1000):
            queue.wake(key)
        queue.start()
        longest = before = 0
        while looked < 1000:
            await asyncio.sleep(0)
            longest, before = max(longest, looked - before), looked
        assert longest <= 16
        await queue.stop()

    run(scenario())


def test_a_bell_means_a_look_at_once() -> None:
    async def scenario() -> None:
        desk = Desk()
        desk.queue.wake("a")
        assert await desk.after(10) == [0.0]

    run(scenario())


def test_bells_before_a_look_are_one_bell() -> None:
    async def scenario() -> None:
        desk = Desk()
        for _ in range(500):
            desk.queue.wake("a")
        assert desk.queue.depth == 1
        assert await desk.after(10) == [0.0]

    run(scenario())


def test_bells_during_a_look_are_one_more_look() -> None:
    async def scenario() -> None:
        desk = Desk(took=1.0)
        desk.queue.wake("a")
        await asyncio.sleep(0.5)
        for _ in range(500):
            desk.queue.wake("a")
        assert await desk.after(10) == [0.0, 1.2]
        assert desk.most_of_one == 1

    run(scenario())


def test_different_jobs_are_looked_at_together_up_to_the_workers() -> None:
    async def scenario() -> None:
        desk = Desk(took=1.0)
        for key in "abcde":
            desk.queue.wake(key)
        assert await desk.after(10) == [0.0, 0.0, 0.0, 1.0, 1.0]
        assert desk.most_at_once == 3

    run(scenario())


def test_the_longest_wait_is_told() -> None:
    async def scenario() -> None:
        desk = Desk(took=100.0)
        assert desk.queue.longest_wait == 0.0
        for key in "abcd":
            desk.queue.wake(key)
        await asyncio.sleep(70)
        assert desk.queue.longest_wait == pytest.approx(70.0, abs=0.1)
        assert desk.queue.depth == 1

    run(scenario())


def test_a_look_says_when_the_next_one_is() -> None:
    async def scenario() -> None:
        desk = Desk(answers=(5.0, 0.0, None))
        desk.queue.wake("a")
        assert await desk.after(100) == [0.0, 5.0, 5.0]

    run(scenario())


def test_the_earliest_wish_wins() -> None:
    async def scenario() -> None:
        desk = Desk()
        desk.queue.wake_in("a", 30.0)
        desk.queue.wake_in("a", 10.0)
        desk.queue.wake_in("a", 20.0)
        assert await desk.after(100) == [10.0]

    run(scenario())


def test_a_new_look_replaces_what_the_last_one_wished() -> None:
    async def scenario() -> None:
        desk = Desk(answers=(60.0, 100.0))
        desk.queue.wake("a")
        await asyncio.sleep(10)
        desk.queue.wake("a")
        assert await desk.after(95) == [0.0, 10.0]
        assert await desk.after(10) == [0.0, 10.0, 110.0]

    run(scenario())


def test_failures_back_off_and_success_forgets_them() -> None:
    async def scenario() -> None:
        desk = Desk()
        desk.failures = 4
        desk.queue.wake("a")
        assert await desk.after(100) == [0.0, 1.0, 3.0, 7.0, 15.0]
        desk.failures = 1
        desk.queue.wake("a")
        assert (await desk.after(100))[5:] == [100.0, 101.0]

    run(scenario())


def test_a_bell_after_a_failure_waits_a_second() -> None:
    async def scenario() -> None:
        desk = Desk()
        desk.failures = 3
        desk.queue.wake("a")
        await asyncio.sleep(3.5)
        desk.queue.wake("a")
        assert await desk.after(0.6) == [0.0, 1.0, 3.0, 4.0]

    run(scenario())


def test_one_jobs_failures_do_not_touch_another() -> None:
    async def scenario() -> None:
        desk = Desk()
        desk.failures = 1
        desk.queue.wake("a")
        await asyncio.sleep(0.1)
        desk.queue.wake("b")
        await asyncio.sleep(10)
        assert desk.looks == [("a", 0.0), ("b", 0.1), ("a", 1.0)]
        assert desk.queue.alive

    run(scenario())


def test_a_job_that_rings_without_end_rests() -> None:
    async def scenario() -> None:
        desk = Desk(took=0.01)
        for _ in range(1000):
            desk.queue.wake("a")
            await asyncio.sleep(0.001)
        assert 15 <= len(desk.looks) <= 25

    run(scenario())


def test_a_look_that_never_waits_leaves_the_core_to_the_others() -> None:
    async def scenario() -> None:
        looks = 0

        async def busy(_: str) -> None:
            nonlocal looks
            looks += 1
            time.sleep(0.02)  # noqa: ASYNC251 - a look that computes cannot be rung meanwhile

        queue: Queue[str] = Queue(busy)
        queue.start()
        for _ in range(100):
            queue.wake("a")
            await asyncio.sleep(0.01)
        assert 6 <= looks <= 16
        await asyncio.sleep(1)
        assert not queue._states  # noqa: SLF001 - memory is what this is about
        await queue.stop()

    run(scenario())


def test_a_look_that_only_waited_does_not_rest_for_long() -> None:
    async def scenario() -> None:
        desk = Desk(took=10.0)
        desk.queue.wake("a")
        await asyncio.sleep(5)
        desk.queue.wake("a")
        assert await desk.after(10) == [0.0, 10.2]

    run(scenario())


def test_a_computing_look_rests_for_seconds_at_most() -> None:
    assert rest_after(took=100.0, kept=0.0) == pytest.approx(0.2)
    assert rest_after(took=0.01, kept=0.01) == pytest.approx(0.04)
    assert rest_after(took=0.5, kept=0.5) == pytest.approx(2.0)
    assert rest_after(took=100.0, kept=100.0) == pytest.approx(5.0)


def test_nothing_is_remembered_of_a_job_at_rest() -> None:
    async def scenario() -> None:
        desk = Desk()
        desk.failures = 1
        desk.queue.wake("a")
        await desk.after(10)
        assert not desk.queue._states  # noqa: SLF001 - memory is what this is about

    run(scenario())


def test_a_stopped_queue_stops() -> None:
    async def scenario() -> None:
        desk = Desk(took=100.0)
        desk.queue.wake("a")
        desk.queue.wake_in("b", 5.0)
        await asyncio.sleep(1)
        await desk.queue.stop()
        assert await desk.after(1000) == [0.0]
        assert not desk.queue.alive

    run(scenario())


def test_a_wish_for_the_next_moment_can_be_followed_by_another() -> None:
    """Uvloop's handle of a timer that is due within half a millisecond does not know its time."""

    async def scenario() -> None:
        came = asyncio.Event()

        async def work(_: str) -> None:
            came.set()

        queue: Queue[str] = Queue(work)
        queue.start()
        for seconds in (0.0004, 0.0003, 0.0002, 0.0001):
            queue.wake_in("a", seconds)
        await asyncio.wait_for(came.wait(), 30)
        await queue.stop()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(scenario())
