"""All ranks' lines, each once, whatever breaks on the way."""

import asyncio
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest

from cli.given import a_pod, a_seen_job
from trainingjobs.client import containers, follow, reader
from trainingjobs.client.errors import ClientError
from trainingjobs.client.follow import Follower
from trainingjobs.client.lines import LogLine

pytestmark = pytest.mark.timeout(20)

RUNS: dict[str, Any] = {"running": {}}
ENDED: dict[str, Any] = {"terminated": {"exitCode": 0}}


def stamp(moment: int) -> str:
    return f"2026-03-01T12:{moment // 600:02}:{moment // 10 % 60:02}.{moment % 10}Z"


def answer(code: int) -> httpx2.HTTPStatusError:
    request = httpx2.Request("GET", "http://cluster/log")
    return httpx2.HTTPStatusError("no", request=request, response=httpx2.Response(code))


@dataclass
class Container:
    """One container that writes lines, a few for each time that somebody looks."""

    pod: dict[str, Any]
    lines: list[str]
    written: int = 0
    others: dict[str, Any] = field(default_factory=dict)
    """More of the pod's metadata."""
    opened: int | None = None
    """Lines that were there when somebody looked first."""

    @property
    def ended(self) -> bool:
        """True once it has written all."""
        return self.written == len(self.lines)

    def now(self) -> dict[str, Any]:
        """The pod as it is now."""
        state = ENDED if self.ended else RUNS
        statuses = [{"name": "trainer", "state": state}]
        metadata = {**self.pod["metadata"], **self.others}
        return {**self.pod, "metadata": metadata, "status": {"containerStatuses": statuses}}


@dataclass
class Cluster:
    """Stands for the API server: logs that break anywhere, and a job that ends with its pods."""

    containers: list[Container]
    chance: random.Random
    namespace: str = "lab"
    code: int = 0
    steady_first: bool = False
    """The first stream of each container brings all that is there."""
    asked: list[str] = field(default_factory=list)

    def _find(self, pod: dict[str, Any]) -> Container:
        uid = pod["metadata"]["uid"]
        return next(item for item in self.containers if item.pod["metadata"]["uid"] == uid)

    async def log(
        self, pod: dict[str, Any], *, since: str = "", follow: bool = False, tail: int | None = None
    ) -> AsyncIterator[bytes]:
        """The log, as far as the stream holds."""
        self.asked.append(pod["metadata"]["uid"])
        if self.code:
            raise answer(self.code)
        container = self._find(pod)
        first = container.opened is None
        if container.opened is None:
            container.opened = container.written
        if follow:
            container.written = self.chance.randint(container.written, len(container.lines))
        raws = [line for line in container.lines[: container.written] if line >= since[:19]]
        if tail is not None:
            raws = raws[max(container.opened - tail, 0) :] if follow else raws[len(raws) - tail :]
        data = "".join(f"{raw}\n" for raw in raws).encode()
        whole = not follow or (first and self.steady_first)
        cut = len(data) if whole else self.chance.randint(0, len(data))
        middle = self.chance.randint(0, cut)
        for part in (data[:middle], data[middle:cut]):
            await asyncio.sleep(0)
            yield part
        if self.chance.random() < 0.5 and follow:
            raise httpx2.ReadError("cut")

    async def pod(self, pod: dict[str, Any]) -> dict[str, Any]:
        """The pod as it is now."""
        return self._find(pod).now()

    async def get_job_pods(self, job: Any) -> list[dict[str, Any]]:
        """All pods."""
        del job
        return [container.now() for container in self.containers]

    async def watch_pods(self, job: Any) -> AsyncIterator[dict[str, Any]]:
        """All pods, and no change."""
        for pod in await self.get_job_pods(job):
            yield pod
        await asyncio.Event().wait()

    async def watch_job(self, name: str) -> AsyncIterator[Any]:
        """The job, until its containers have ended."""
        del name
        while not all(container.ended for container in self.containers):
            yield a_seen_job(status={"phase": "Running"})
            await asyncio.sleep(0.001)
        yield a_seen_job(status={"phase": "Succeeded"})


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "_PAUSE", 0)
    monkeypatch.setattr(follow, "_LAST", 0.05)


def a_cluster(seed: int, *, ranks: int = 3, attempts: int = 2) -> Cluster:
    chance = random.Random(seed)  # noqa: S311
    containers = []
    for attempt in range(1, attempts + 1):
        for rank in range(ranks):
            moments = sorted(chance.choices(range(80), k=chance.randint(1, 30)))
            lines = [f"{stamp(moment)} {chance.choice(['same', 'other'])}" for moment in moments]
            containers.append(Container(a_pod(rank, attempt=attempt), lines))
    return Cluster(containers, chance)


def a_follower(cluster: Cluster, **chosen: Any) -> Follower:
    return Follower(cluster, cluster, a_seen_job(), **chosen)  # type: ignore[arg-type]


async def told(follower: Follower, tail: int | None = None) -> dict[tuple[int, int], list[str]]:
    found: dict[tuple[int, int], list[str]] = {}
    async for line in follower.follow(tail):
        found.setdefault((line.attempt, line.rank), []).append(line.text)
    return found


def place(item: Container) -> tuple[int, int]:
    attempt, rank = (f"trainingjob.dev/{name}" for name in ("attempt", "rank"))
    return containers.number(item.pod, attempt), containers.number(item.pod, rank)


def texts(cluster: Cluster) -> dict[tuple[int, int], list[str]]:
    return {
        place(item): [line.partition(" ")[2] for line in item.lines] for item in cluster.containers
    }


@pytest.mark.parametrize("seed", range(60))
async def test_each_line_of_each_rank_and_attempt_once_and_in_order(seed: int) -> None:
    cluster = a_cluster(seed)
    assert await told(a_follower(cluster)) == texts(cluster)


async def test_of_chosen_ranks_and_an_attempt() -> None:
    cluster = a_cluster(1)
    for item in cluster.containers:
        if place(item) not in {(2, 0), (2, 2)}:
            item.written = len(item.lines)
    found = await told(a_follower(cluster, ranks={0, 2}, attempt=2))
    assert found.keys() == {(2, 0), (2, 2)}


async def test_a_right_that_is_missing_ends_it() -> None:
    cluster = a_cluster(1, attempts=1)
    cluster.code = 403
    with pytest.raises(ClientError, match="ask who runs the cluster"):
        await told(a_follower(cluster))


async def test_a_pod_that_is_gone_keeps_nobody_waiting() -> None:
    cluster = a_cluster(1, attempts=1)
    cluster.code = 404
    for container in cluster.containers:
        container.written = len(container.lines)
    assert await told(a_follower(cluster)) == {}


async def test_what_is_there_is_read_in_the_order_of_time() -> None:
    cluster = a_cluster(3, attempts=1)
    for container in cluster.containers:
        container.written = len(container.lines)
    lines = [line async for line in a_follower(cluster).read()]
    assert [line.time for line in lines] == sorted(line.time for line in lines)
    assert len(lines) == sum(len(item.lines) for item in cluster.containers)


async def test_an_attempt_whose_pods_are_gone_is_said_to_be() -> None:
    with pytest.raises(ClientError, match="no pods of attempt 7"):
        [line async for line in a_follower(a_cluster(1), attempt=7).read()]


async def test_too_many_ranks_at_a_time() -> None:
    cluster = a_cluster(1, ranks=follow.MAX_RANKS + 1, attempts=1)
    with pytest.raises(ClientError, match="choose with --rank"):
        [line async for line in a_follower(cluster).read()]
    assert not cluster.asked


@pytest.mark.parametrize(("chosen", "last"), [(None, 1), (range(1, 4), 2)])
async def test_the_first_ranks_are_followed_where_there_are_too_many(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, chosen: Any, last: int
) -> None:
    """As many as the job has, though only some of its pods may be there yet."""
    monkeypatch.setattr(follow, "MAX_RANKS", 2)
    cluster = a_cluster(1, ranks=4, attempts=1)
    for item in cluster.containers:
        if place(item)[1] in {0, 3}:
            item.written = len(item.lines)
    follower = Follower(cluster, cluster, a_seen_job(4), ranks=chosen)  # type: ignore[arg-type]
    followed = {rank for _, rank in await asyncio.wait_for(told_until(follower, cluster), 10)}
    assert followed == {last - 1, last}
    assert "mnist has 4 ranks: the first 2 are followed" in caplog.text


async def told_until(follower: Follower, cluster: Cluster) -> dict[tuple[int, int], list[str]]:
    """The job ends, whoever is read."""
    for item in cluster.containers:
        item.written = len(item.lines)
    return await told(follower)


async def test_ranks_may_come_one_by_one() -> None:
    cluster = a_cluster(1, attempts=1)
    found = await told_until(a_follower(cluster, ranks=(rank for rank in (0, 2))), cluster)
    assert found.keys() == {(1, 0), (1, 2)}


async def test_a_log_that_cannot_be_read_ends_with_the_job(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster = a_cluster(1, attempts=1)
    cluster.code = 502
    for container in cluster.containers:
        container.written = len(container.lines)
    assert await told(a_follower(cluster)) == {}
    assert "rank 0-2 of mnist could not be read to its end" in caplog.text


class Over(Cluster):
    """The job is over, though its last rank runs: it says no more, or has last words."""

    async def log(self, pod: dict[str, Any], **how: Any) -> AsyncIterator[bytes]:
        """What is there, and nothing for a while."""
        container = self._find(pod)
        if how["follow"]:
            await asyncio.sleep(0.12 if container.others else 60)
            container.written = len(container.lines)
        since = how["since"][:19]
        yield "".join(f"{line}\n" for line in container.lines if line >= since).encode()

    async def watch_job(self, name: str) -> AsyncIterator[Any]:
        """The job is over."""
        del name
        yield a_seen_job(status={"phase": "Succeeded"})


def one_runs_on(**others: Any) -> Over:
    *ended, last = a_cluster(1, attempts=1).containers
    for item in ended:
        item.written = len(item.lines)
    last.others = others
    return Over([*ended, last], random.Random(1))  # noqa: S311


async def test_a_worker_that_runs_on_keeps_nobody(caplog: pytest.LogCaptureFixture) -> None:
    cluster = one_runs_on()
    found = await told(a_follower(cluster))
    assert found == {key: lines for key, lines in texts(cluster).items() if key != (1, 2)}
    assert "rank 2 of mnist could not be read to its end" in caplog.text


async def test_a_pod_that_is_being_deleted_has_its_last_words(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster = one_runs_on(deletionTimestamp=stamp(700))
    assert await told(a_follower(cluster)) == texts(cluster)
    assert not caplog.text


@pytest.mark.parametrize("seed", range(40))
async def test_a_tail_is_of_what_was_there_and_of_nothing_else(seed: int) -> None:
    cluster = a_cluster(seed, attempts=2)
    cluster.steady_first = True
    before = [item for item in cluster.containers if place(item)[0] == 1]
    later = [item for item in cluster.containers if place(item)[0] == 2]
    for item in before:
        item.written = cluster.chance.randint(0, len(item.lines))
        item.lines = [f"{stamp(moment)} {moment}" for moment in range(len(item.lines))]
    for item in later:
        item.written = len(item.lines) - 1
    real = cluster.get_job_pods

    async def first(job: Any) -> list[dict[str, Any]]:
        cluster.get_job_pods = real  # type: ignore[method-assign]
        return [pod for pod in await real(job) if pod["metadata"]["uid"].endswith("-1")]

    cluster.get_job_pods = first  # type: ignore[method-assign]
    found = await told(a_follower(cluster, began=stamp(0)), 2)
    for item in before:
        assert item.opened is not None
        cut_off = max(item.opened - 2, 0)
        assert found.get(place(item), []) == texts(cluster)[place(item)][cut_off:]
    for item in later:
        assert found[place(item)] == texts(cluster)[place(item)]


class Scripted:
    """Stands for the API server: one answer after the other."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, int | None]] = []

    async def log(
        self, pod: dict[str, Any], *, since: str = "", follow: bool = False, tail: int | None = None
    ) -> AsyncIterator[bytes]:
        """The next answer."""
        del pod, follow
        self.asked.append((since, tail))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        yield answer

    async def pod(self, pod: dict[str, Any]) -> dict[str, Any] | None:
        """Gone, once all was answered."""
        return pod if self.answers else None


async def read(source: Any, **how: Any) -> list[str]:
    found: list[Any] = []

    async def keep(line: Any) -> None:
        found.append(line.text)

    await reader.Reader(source, a_pod(0), keep, **how).run()
    return found


async def test_a_tail_is_asked_for_once() -> None:
    """What was written while the log could not be read is not to be cut off."""
    source = Scripted(answer(500), httpx2.ReadError("cut"), f"{stamp(9)} a\n".encode())
    assert await read(source, tail=1, began="then") == ["a"]
    assert source.asked == [("", 1), ("then", None), ("then", None)]


@pytest.mark.parametrize("then", [[], [answer(404)]], ids=["the pod is gone", "its log is"])
async def test_last_words_without_an_end(then: list[Any]) -> None:
    words = f"{stamp(1)} a\n{stamp(2)} killed".encode()
    assert await read(Scripted(words, *then)) == ["a", "killed"]


async def test_half_a_line_of_a_stream_that_goes_on_is_none() -> None:
    half, whole = f"{stamp(1)} a", f"{stamp(1)} ab\n"
    assert await read(Scripted(half.encode(), whole.encode())) == ["ab"]


def test_a_line_of_a_rank() -> None:
    line = LogLine(rank=1, attempt=1, pod="mnist-worker-0", time=stamp(0), text="hello")
    assert (line.rank, line.text) == (1, "hello")
