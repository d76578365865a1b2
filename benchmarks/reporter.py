"""What the reporter costs: step time and memory of the same training, with it and without it.

    python benchmarks/reporter.py            # with a Python that has torch

A small model on one core is the hardest case: its step is short, and the reporter's cost for a
step is the same for all models. One process trains in blocks, in turns with the reporter's hooks
and with the originals in their place, so that whatever else the machine does meets both alike;
the CPU time of one report, which the reporter's thread makes every five seconds or more seldom,
is measured beside it. More processes tell the memory. `--json FILE` keeps the figures.
"""

import argparse
import http.server
import importlib
import json
import os
import platform
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
MODELS = {"tiny": 16, "small": 128, "medium": 512}
"""Width of a perceptron of three layers."""


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


def train(url: str, *arguments: str) -> dict[str, Any]:
    """Run this file once more as the training process; what it printed."""
    with mounted() as code:
        environment = {**os.environ, "PYTHONPATH": str(code), "OMP_NUM_THREADS": "1"}
        environment["TRAININGJOB_REPORT_URL"] = url
        argv = [sys.executable, __file__, "--train", *arguments]
        done = subprocess.run(argv, env=environment, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def steps(width: int) -> Callable[[], tuple[float, int]]:
    """A function that goes through the data once: the seconds that took, and the steps."""
    torch = importlib.import_module("torch")
    data_tools = importlib.import_module("torch.utils.data")

    torch.manual_seed(0)
    sizes = [(width, width), (width, width), (width, 8)]
    layers = [part for size in sizes for part in (torch.nn.Linear(*size), torch.nn.ReLU())]
    model = torch.nn.Sequential(*layers)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data = data_tools.TensorDataset(torch.randn(1024, width), torch.randn(1024, 8))

    def epoch() -> tuple[float, int]:
        loader = iter(data_tools.DataLoader(data, 16))
        began, made = time.perf_counter(), 0
        for x, y in loader:
            optimizer.zero_grad()
            (model(x) - y).pow(2).mean().backward()
            optimizer.step()
            made += 1
        return time.perf_counter() - began, made

    return epoch


def memory() -> float:
    """MB of this process alone."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("RssAnon:")[1].split()[0]) / 1024


def one_training(width: int, blocks: int) -> dict[str, Any]:
    """Blocks of steps, in turns with and without the reporter, in an order that is fair to both."""
    epoch = steps(width)
    switch = Switch()
    for _ in range(10):
        epoch()
    with_it, without = [], []
    for block in range(blocks):
        for on in (True, False) if block % 2 else (False, True):
            switch.turn(on=on)
            seconds, made = epoch()
            (with_it if on else without).append(seconds / made)
    return {"with": with_it, "without": without, "report": one_report()}


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
        self.hooks = optimizer._global_optimizer_post_hooks
        self.ours = dict(self.hooks)
        if not all(hasattr(cover, "__wrapped__") for _, _, cover in self.covers):
            raise SystemExit("the reporter is not at work here")

    def turn(self, *, on: bool) -> None:
        """On or off."""
        for place, name, cover in self.covers:
            setattr(place, name, cover if on else cover.__wrapped__)
        self.hooks.clear()
        self.hooks.update(self.ours if on else {})


def only_memory(width: int) -> dict[str, Any]:
    """Some seconds of training, whoever watches."""
    epoch = steps(width)
    until = time.monotonic() + 5
    while time.monotonic() < until:
        epoch()
    return {"memory": memory()}


def measure(blocks: int) -> dict[str, Any]:
    """All models, and the memory."""
    rows = {}
    with operator() as url:
        for name, width in MODELS.items():
            found = train(url, str(width), str(blocks))
            pairs = [a / b for a, b in zip(found["with"], found["without"], strict=True)]
            rows[name] = {
                "width": width,
                "stepMicroseconds": statistics.median(found["without"]) * 1e6,
                "withReporter": statistics.median(found["with"]) * 1e6,
                "ratio": statistics.median(pairs) + found["report"] / INTERVAL,
                "reportMilliseconds": found["report"] * 1e3,
            }
        taken = [train(each, "16", "0")["memory"] for each in (url, "", url, "", url, "")]
    extra = statistics.median(taken[::2]) - statistics.median(taken[1::2])
    return {
        "machine": {"cpus": os.cpu_count(), "python": platform.python_version()},
        "blocks": blocks,
        "reports": Operator.heard,
        "models": rows,
        "extraMegabytes": extra,
    }


def show(result: dict[str, Any]) -> None:
    """The table for people."""
    print(f"{'model':8}{'step, µs':>12}{'with, µs':>12}{'ratio':>10}{'a report, ms':>14}")
    for name, row in result["models"].items():
        plain, ours, ratio = row["stepMicroseconds"], row["withReporter"], row["ratio"]
        report = row["reportMilliseconds"]
        print(f"{name:8}{plain:12.1f}{ours:12.1f}{ratio:10.4f}{report:14.2f}")
    print(f"memory: {result['extraMegabytes']:+.1f} MB; {result['reports']} reports were heard")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--blocks", type=int, default=400, help="pairs of 64 steps per model")
    parser.add_argument("--json", type=Path, help="also write the result here")
    parser.add_argument("--train", nargs=2, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.train:
        width, blocks = options.train
        print(json.dumps(one_training(width, blocks) if blocks else only_memory(width)))
        return
    result = measure(options.blocks)
    show(result)
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
