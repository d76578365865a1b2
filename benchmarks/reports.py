"""Ten thousand ranks that report to one operator: what it costs, and whether the rhythm holds.

    python benchmarks/reports.py --ranks 10000 --jobs 100 --seconds 120

The operator is a process of its own: the whole service with its queue, its memory and its
decisions, without an API server: tokens are taken for what they say, and nothing is written.
The ranks are this process: each keeps the reporter's rhythm, a few percent by chance, and
sends what a rank of PyTorch sends. Both share the machine's cores.
"""

import argparse
import asyncio
import base64
import json
import random
import statistics
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import psutil
import uvloop
from reports_operator import HOST, NAMESPACE, PROCESSES, uid

STEPS, PATIENCE, SPREAD = 10_000, 60.0, 1.0
"""Jobs start one after the other, so many seconds apart."""
FRAMES = [
    {"file": f"torch/nn/modules/module_{it}.py", "line": 100 + it, "function": "forward"}
    for it in range(12)
]


@dataclass(slots=True)
class Tally:
    """What the ranks saw."""

    sent: list[float] = field(default_factory=list)
    """When."""
    answered: list[tuple[float, str, float]] = field(default_factory=list)
    """When a report was sent, what was answered, and after how many seconds."""
    started: float = 0
    took: float = 0


def token(job: int, instance: int) -> str:
    """What a pod would show."""
    name = uid(job, instance)
    said = {
        "aud": ["trainingjob.dev/reports"],
        "exp": int(time.time()) + 3600,
        "kubernetes.io": {"namespace": NAMESPACE, "pod": {"name": name, "uid": name}},
    }
    return f"e.{base64.urlsafe_b64encode(json.dumps(said).encode()).decode().rstrip('=')}.s"


def word(process: str, rank: int, world: int, since: float) -> dict[str, Any]:
    """What a rank in the middle of its training says."""
    steps = int(5 * (time.monotonic() - since)) + 1
    return {
        "version": 1,
        "process": process,
        "rank": rank,
        "worldSize": world,
        "stage": "stepping",
        "stageSeconds": time.monotonic() - since,
        "steps": steps,
        "rate": 5.0,
        "quietSeconds": 0.1,
        "longestQuiet": 3.0,
        "cpu": 1.0,
        "io": 1e6,
        "ownSeconds": 0.1,
        "dataSeconds": 0.01,
        "waitsIn": "backward",
        "sequence": steps,
        "frames": [*FRAMES, {"file": "train.py", "line": 31, "function": "main", "user": True}],
        "lines": {"init": "train.py:9", "sampler": "train.py:14", "wrap": "train.py:21"},
        "data": {"sampler": "distributed", "samples": 6000, "epochs": 3, "epochSet": True},
        "model": {"wrapper": "DistributedDataParallel", "parameters": 10**7},
        "told": {"step": steps, "total": STEPS, "metrics": {"loss": random.random()}},  # noqa: S311
    }


async def live(http: aiohttp.ClientSession, url: str, place: tuple[int, int], tally: Tally) -> None:
    """Be one rank of a job until cancelled."""
    job, rank, world = *place, int(http.headers["X-World"])
    headers = {"Authorization": f"Bearer {token(job, rank // PROCESSES)}"}
    process, since = f"p-{job}-{rank}", time.monotonic()
    interval, failures = max(1.0, world / 200), 0
    await asyncio.sleep(job * SPREAD + interval * random.random())  # noqa: S311
    while True:
        started = time.monotonic()
        tally.sent.append(started)
        code, wanted, retry = await ask(http, url, word(process, rank, world, since), headers)
        tally.answered.append((started, str(code), time.monotonic() - started))
        interval, failures = wanted or interval, 0 if wanted else failures + 1
        pause = max(retry, min(PATIENCE, interval * 2.0 ** min(failures, 10)))
        await asyncio.sleep(pause * random.uniform(0.9, 1.1))  # noqa: S311


async def ask(
    http: aiohttp.ClientSession, url: str, said: dict[str, Any], headers: dict[str, str]
) -> tuple[int | str, float, float]:
    """Send a report; the answer's code, the interval in it, and when to come again."""
    try:
        async with http.post(url, json=said, headers=headers) as answer:
            told = await answer.json()
            retry = float(answer.headers.get("Retry-After", 0))
            return answer.status, told.get("interval", 0.0), retry
    except (aiohttp.ClientError, TimeoutError) as error:
        return type(error).__name__, 0.0, 0.0


async def train(chosen: argparse.Namespace, url: str, tally: Tally) -> None:
    """Be all ranks for the time that was asked for."""
    world = chosen.instances * PROCESSES
    connector = aiohttp.TCPConnector(limit=2000, force_close=True)
    headers = {"X-World": str(world)}
    limit = aiohttp.ClientTimeout(total=10)
    async with aiohttp.ClientSession(connector=connector, headers=headers, timeout=limit) as http:
        ranks = [
            asyncio.create_task(live(http, url, (job, rank), tally))
            for job in range(chosen.jobs)
            for rank in range(world)
        ]
        await asyncio.sleep(chosen.seconds)
        for rank in ranks:
            rank.cancel()
        ended = await asyncio.gather(*ranks, return_exceptions=True)
    broken = [it for it in ended if not isinstance(it, asyncio.CancelledError)]
    if broken:
        print(f"{len(broken)} ranks ended: {broken[0]!r}", file=sys.stderr)


def measure(chosen: argparse.Namespace) -> dict[str, Any]:
    """Run both sides; the figures."""
    command = [sys.executable, str(Path(__file__).with_name("reports_operator.py"))]
    command += [f"--{name}={getattr(chosen, name)}" for name in ("jobs", "instances", "rate")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as operator:
        assert operator.stdout is not None  # noqa: S101
        port = json.loads(operator.stdout.readline())["port"]
        there, tally = psutil.Process(operator.pid), Tally()
        idle, before = there.memory_info().rss, sum(there.cpu_times()[:2])
        tally.started = time.monotonic()
        uvloop.run(train(chosen, f"http://{HOST}:{port}/api/v1/reports", tally))
        tally.took = time.monotonic() - tally.started
        cpu, memory = sum(there.cpu_times()[:2]) - before, there.memory_info().rss
        told, _ = operator.communicate("over\n", timeout=60)
    return {
        "ranks": chosen.jobs * chosen.instances * PROCESSES,
        "jobs": chosen.jobs,
        **rhythm(tally),
        **looks(json.loads(told)),
        "CPU of the operator in %": round(100 * cpu / tally.took, 1),
        "CPU of a report in ms, looks included": round(1000 * cpu / len(tally.sent), 2),
        "memory before in MB": round(idle / 1e6, 1),
        "memory after in MB": round(memory / 1e6, 1),
    }


def rhythm(tally: Tally) -> dict[str, Any]:
    """How often the ranks reported, and how long they waited for an answer."""
    middle = tally.started + tally.took / 2
    begun = Counter(code for sent, code, _ in tally.answered if sent <= middle)
    steady = [it for it in tally.answered if it[0] > middle]
    waits = [seconds for _, _, seconds in steady]
    return {
        "seconds": round(tally.took, 1),
        "reports": len(tally.sent),
        "most reports in one second": max(Counter(map(int, tally.sent)).values()),
        "answers in the first half": dict(begun),
        "answers in the second half": dict(Counter(code for _, code, _ in steady)),
        "reports/s in the second half": round(
            sum(it > middle for it in tally.sent) / (tally.took / 2), 1
        ),
        "its latency p50 in ms": round(1000 * statistics.median(waits), 2),
        "its latency p99 in ms": round(1000 * statistics.quantiles(waits, n=100)[98], 2),
    }


def looks(told: dict[str, int]) -> dict[str, Any]:
    """What the operator has done meanwhile."""
    number = told.get("number", 0)
    return {
        "processes heard of": told["heard"],
        "looks at jobs": number,
        "CPU of a look in ms": round(told.get("microseconds", 0) / max(number, 1) / 1000, 2),
    }


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--rate", type=float, default=200)
    parser.add_argument("--json", type=Path, help="write the figures there as well")
    chosen = parser.parse_args()
    chosen.instances = max(1, chosen.ranks // chosen.jobs // PROCESSES)
    figures = measure(chosen)
    width = max(map(len, figures))
    print("\n".join(f"{name:<{width}}  {value}" for name, value in figures.items()))
    if chosen.json:
        chosen.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
