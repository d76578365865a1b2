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
import json
import os
import platform
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copy
from typing import Any

SOURCE = Path(__file__).parents[1] / "operator" / "_trainingjob"
TRAINING = Path(__file__).with_name("reporter_training.py")
INTERVAL = 5.0
"""Seconds between two reports of one process, at least."""
MODELS = {"tiny": (16, 1), "small": (128, 1), "medium": (512, 1), "digits": (64, 2)}
"""Width of a perceptron, and its ranks: those of one rank have three layers."""


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
        argv = [sys.executable, str(TRAINING), str(width), str(turns)]
        running = [
            subprocess.Popen(argv, env=environment | {"RANK": str(rank)}, stdout=subprocess.PIPE)
            for rank in range(ranks)
        ]
        said = [process.communicate()[0] for process in running]
        if any(process.returncode for process in running):
            raise SystemExit("a training process has failed")
    found: dict[str, Any] = json.loads(said[0])
    return found


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
    parser.add_argument("--turns", type=int, default=400, help="per model, of 32 steps each")
    parser.add_argument("--json", type=Path, help="also write the result here")
    options = parser.parse_args()
    result = measure(options.turns)
    show(result)
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
