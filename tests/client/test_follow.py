"""All ranks' lines, each once, whatever breaks on the way."""

import asyncio
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest

from cli.given import a_pod, a_seen_job
from trainingjobs.client import containers, follow
from trainingjobs.client.failures import ClientError
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

    @property
    def ended(self) -> bool:
        """True once it has written all."""
        return self.written == len(self.lines)

    def now(self) -> dict[str, Any]:
        """The pod as it is now."""
        state = ENDED if self.ended else RUNS
        statuses = [{"name": "trainer", "state": state}]
        return {**self.pod, "status": {"containerStatuses": statuses}}


@dataclass
class Cluster:
    """Stands for the API server: logs that break anywhere, and a job that ends with its pods."""

    containers: list[Container]
    chance: random.Random
    namespace: str = "lab"
    code: int = 0
    asked: list[str] = field(default_factory=list)

    def _find(self, pod: dict[str, Any]) -> Container:
        uid = pod["metadata"]["uid"]
        return next(item for item in self.containers if item.pod["metadata"]["uid"] == uid)

    async def log(
        self, pod: dict[str, Any], *, since: str = "", follow: bool = False, tail: int | None = None
    ) -> AsyncIterator[bytes]:
        """The log, as far as the stream holds."""
        del tail
        self.asked.append(pod["metadata"]["uid"])
        if self.code:
            raise answer(self.code)
        container = self._find(pod)
        if follow:
            container.written = self.chance.randint(container.written, len(container.lines))
        raws = [line for line in container.lines[: container.written] if line >= since[:19]]
        data = "".join(f"{raw}\n" for raw in raws).encode()
        cut = self.chance.randint(0, len(data)) if follow else len(data)
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
    monkeypatch.setattr(follow, "_PAUSE", 0)


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


async def told(follower: Follower) -> dict[tuple[int, int], list[str]]:
    found: dict[tuple[int, int], list[str]] = {}
    async for line in follower.follow():
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
        await told(a_follower(cluster))
    assert isinstance(cluster.containers[0], Container)
    assert not cluster.asked


def test_a_line_of_a_rank() -> None:
    line = LogLine(rank=1, attempt=1, pod="mnist-worker-0", time=stamp(0), text="hello")
    assert (line.rank, line.text) == (1, "hello")
