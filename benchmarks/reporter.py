"""What the reporter costs: step time and memory of the same training, with it and without it.

    python benchmarks/reporter.py            # with a Python that has torch

A small model on one core is the hardest case: its step is short, and the reporter's cost for a
step is about the same for all models. A process trains in short turns, in an order left to chance:
with the reporter's covers and hooks in place, with the originals, and with the originals once
more, which tells how much of a difference is noise. What counts is the CPU time of the training
thread, step by step, so that a busy machine disturbs little; its outliers are cut. The time that
the reporter's own thread takes for a report, every five seconds or more seldom, is added. The
rows with several ranks are DDP over gloo with the network of examples/01-ddp; their step is the
time that passes, waiting for each other included. More processes tell the memory.
`--json FILE` keeps the figures.
"""

import argparse
import http.server
import importlib
import json
import os
import platform
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copy
from typing import Any

SOURCE = Path(__file__).parents[1] / "operator" / "_trainingjob"
INTERVAL = 5.0
"""Seconds between two reports of one process, at least."""
MODELS = {"tiny": (16, 1), "small": (128, 1), "medium": (512, 1), "digits": (64, 2)}
"""Width of a perceptron, and its ranks: those of one rank have three layers."""
TURN = 32
"""Steps in a turn; the first one is left out, for what it finds has just been changed."""
LEARNING = 1024
"""Steps before all that: the reporter listens for a while to what begins."""
CUT = 2
"""Times the median: longer steps count as that."""


class Operator(http.server.BaseHTTPRequestHandler):
    """Takes every report, and asks for the next in five seconds, as the real one does at most."""

    heard = 0

    def do_POST(self) -> None:
        """Answer one report."""
        self.rfile.read(int(self.headers["Content-Length"]))
        Operator.heard += 1
        answer = b'{"interval": 5}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def operator() -> Iterator[str]:
    """The address of an operator that listens."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Operator) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/api/v1/reports"
        server.shutdown()


@contextmanager
def mounted() -> Iterator[Path]:
    """The reporter's files as a pod has them."""
    with tempfile.TemporaryDirectory() as folder:
        code = Path(folder)
        (code / "_trainingjob").mkdir()
        for file in SOURCE.glob("*.py"):
            copy(file, code / "_trainingjob" / file.name)
        (code / "_trainingjob" / "_sitecustomize.py").rename(code / "sitecustomize.py")
        yield code


def train(url: str, width: int, turns: int, ranks: int = 1) -> dict[str, Any]:
    """Run this file once more as the training processes; what rank 0 printed."""
    with mounted() as code, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        environment = {
            **os.environ,
            "PYTHONPATH": str(code),
            "OMP_NUM_THREADS": "1",
            "TRAININGJOB_REPORT_URL": url,
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(free.getsockname()[1]),
            "WORLD_SIZE": str(ranks),
        }
        free.close()
        argv = [sys.executable, __file__, "--train", str(width), str(turns)]
        running = [
            subprocess.Popen(argv, env=environment | {"RANK": str(rank)}, stdout=subprocess.PIPE)
            for rank in range(ranks)
        ]
        said = [process.communicate()[0] for process in running]
        if any(process.returncode for process in running):
            raise SystemExit("a training process has failed")
    found: dict[str, Any] = json.loads(said[0])
    return found


def steps(width: int) -> Callable[[int], list[tuple[int, int]]]:
    """A function that makes so many steps: nanoseconds of each, the thread's and the clock's."""
    torch = importlib.import_module("torch")
    data_tools = importlib.import_module("torch.utils.data")

    torch.manual_seed(0)
    world = int(os.environ["WORLD_SIZE"])
    sizes = [(width, width)] * (2 if world == 1 else 1) + [(width, 8)]
    layers = [part for size in sizes for part in (torch.nn.Linear(*size), torch.nn.ReLU())]
    model, sampler, batch = torch.nn.Sequential(*layers), None, 16
    data = data_tools.TensorDataset(torch.randn(1440, width), torch.randn(1440, 8))
    if world > 1:
        torch.distributed.init_process_group("gloo")
        model = torch.nn.parallel.DistributedDataParallel(model)
        sampler, batch = data_tools.DistributedSampler(data), 120 // world
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batches = forever(data_tools.DataLoader(data, batch, sampler=sampler))

    def turn(count: int) -> list[tuple[int, int]]:
        taken = []
        for _ in range(count):
            own, began = time.thread_time_ns(), time.perf_counter_ns()
            x, y = next(batches)
            optimizer.zero_grad()
            (model(x) - y).pow(2).mean().backward()
            optimizer.step()
            taken.append((time.thread_time_ns() - own, time.perf_counter_ns() - began))
        return taken

    return turn


def forever(loader: Any) -> Iterator[Any]:
    """Epoch after epoch."""
    while True:
        yield from loader


def memory() -> float:
    """MB of this process alone."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("RssAnon:")[1].split()[0]) / 1024


def one_training(width: int, turns: int) -> dict[str, Any]:
    """Turns with and without the reporter; the ranks of a group draw the same order."""
    turn, chance = steps(width), random.Random(0)  # noqa: S311
    turn(LEARNING)
    switch = Switch()
    taken: dict[str, list[tuple[int, int]]] = {"with": [], "without": [], "again": []}
    for _ in range(turns):
        for name in chance.sample(list(taken), len(taken)):
            switch.turn(on=name == "with")
            taken[name] += turn(TURN)[1:]
    middle = statistics.median(own for own, _ in taken["without"])
    own = {
        name: statistics.fmean(min(step[0], CUT * middle) for step in rows) / 1e3
        for name, rows in taken.items()
    }
    passed = statistics.median(passed for _, passed in taken["without"]) / 1e3
    return {**own, "passed": passed, "report": one_report()}


def one_report() -> float:
    """CPU seconds of making and sending a report."""
    reporter = importlib.import_module("_trainingjob._thread").LINE.reporter
    taken = []
    for _ in range(50):
        began = time.thread_time()
        reporter._send()
        taken.append(time.thread_time() - began)
    return statistics.median(taken)


class Switch:
    """Puts the reporter's covers and hooks in place of the originals, and back."""

    def __init__(self) -> None:
        dataloader = importlib.import_module("torch.utils.data.dataloader")
        optimizer = importlib.import_module("torch.optim.optimizer")
        places = [
            (importlib.import_module("torch.autograd"), "backward"),
            (dataloader.DataLoader, "__iter__"),
            (dataloader._BaseDataLoaderIter, "__next__"),
        ]
        self.covers = [(place, name, vars(place)[name]) for place, name in places]
        both = (optimizer._global_optimizer_pre_hooks, optimizer._global_optimizer_post_hooks)
        self.hooks = [(hooks, dict(hooks)) for hooks in both]
        if not all(hasattr(cover, "__wrapped__") for _, _, cover in self.covers):
            raise SystemExit("the reporter is not at work here")

    def turn(self, *, on: bool) -> None:
        """On or off."""
        for place, name, cover in self.covers:
            # set also where it is there already: Python looks up anew what belongs to such a class
            setattr(place, name, cover if on else cover.__wrapped__)
        for hooks, ours in self.hooks:
            hooks.clear()
            hooks.update(ours if on else {})


def only_memory(width: int) -> dict[str, Any]:
    """Some seconds of training, whoever watches."""
    turn = steps(width)
    until = time.monotonic() + 5
    while time.monotonic() < until:
        turn(TURN)
    return {"memory": memory()}


def measure(turns: int) -> dict[str, Any]:
    """All models, and the memory."""
    rows = {}
    with operator() as url:
        for name, (width, ranks) in MODELS.items():
            found = train(url, width, turns, ranks)
            step = found["without"] if ranks == 1 else found["passed"]
            extra = found["with"] - (found["without"] + found["again"]) / 2
            rows[name] = {
                "width": width,
                "ranks": ranks,
                "stepMicroseconds": step,
                "extraMicroseconds": extra,
                "noiseMicroseconds": abs(found["again"] - found["without"]),
                "ratio": 1 + extra / step + found["report"] / INTERVAL,
                "reportMilliseconds": found["report"] * 1e3,
            }
        taken = [train(each, 16, 0)["memory"] for each in (url, "", url, "", url, "")]
    extra = statistics.median(taken[::2]) - statistics.median(taken[1::2])
    return {
        "machine": {"cpus": os.cpu_count(), "python": platform.python_version()},
        "turns": turns,
        "reports": Operator.heard,
        "models": rows,
        "extraMegabytes": extra,
    }


def show(result: dict[str, Any]) -> None:
    """The table for people."""
    names = ("ranks", "step, µs", "extra, µs", "noise, µs", "ratio", "a report, ms")
    print(f"{'model':8}" + "".join(f"{name:>14}" for name in names))
    for name, row in result["models"].items():
        step, extra, noise = (row[f"{part}Microseconds"] for part in ("step", "extra", "noise"))
        print(
            f"{name:8}{row['ranks']:14}{step:14.1f}{extra:+14.2f}{noise:14.2f}"
            f"{row['ratio']:14.4f}{row['reportMilliseconds']:14.2f}"
        )
    print(f"memory: {result['extraMegabytes']:+.1f} MB; {result['reports']} reports were heard")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=400, help=f"of {TURN} steps each per model")
    parser.add_argument("--json", type=Path, help="also write the result here")
    parser.add_argument("--train", nargs=2, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.train:
        width, turns = options.train
        print(json.dumps(one_training(width, turns) if turns else only_memory(width)))
        return
    result = measure(options.turns)
    show(result)
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
