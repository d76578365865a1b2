"""A Prometheus of the test's own, which reads all replicas of the deployed operator."""

import json
import shutil
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from e2e.deployed import Operator
from integration.operators import eventually, free_port

PROGRAM = shutil.which("prometheus")
SECONDS = 2
"""Between two looks at the operator."""


@dataclass(frozen=True, slots=True)
class Prometheus:
    """One that runs."""

    port: int

    def ask(self, query: str) -> list[Any]:
        """What a query finds now: a series each, with its labels and its value."""
        return self._asked("query", query=query)

    def drawn(self, query: str) -> list[Any]:
        """What a panel draws of it: a series each, with the points of the last ten minutes."""
        now = time.time()
        return self._asked("query_range", query=query, start=now - 600, end=now, step=SECONDS)

    def _asked(self, what: str, **asked: Any) -> list[Any]:
        url = f"http://127.0.0.1:{self.port}/api/v1/{what}?{urllib.parse.urlencode(asked)}"
        with urllib.request.urlopen(url, timeout=30) as answer:
            found: list[Any] = json.load(answer)["data"]["result"]
        return found

    def until(self, query: str, *, drawn: bool = False) -> list[Any]:
        """What it finds, once it finds something; an AssertionError when it does not."""
        ask = self.drawn if drawn else self.ask
        return eventually(lambda: ask(query), 120)


@contextmanager
def reading(operator: Operator, pods: list[str], folder: Path) -> Iterator[Prometheus]:
    """It reads these pods of the operator, as a ServiceMonitor would have it."""
    assert PROGRAM, "prometheus is needed: sudo apt-get install prometheus"
    with ExitStack() as stack:
        home = operator.home
        targets = [
            {
                "targets": [stack.enter_context(home.forwarded(f"pod/{pod}", "8080"))],
                "labels": {"pod": pod, "namespace": home.name, "job": operator.name},
            }
            for pod in pods
        ]
        # as the chart's ServiceMonitor: the jobs' own labels win
        scraped = {"job_name": "operator", "honor_labels": True, "static_configs": targets}
        config = {
            "global": {"scrape_interval": f"{SECONDS}s"},
            "scrape_configs": [scraped],
        }
        (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
        port = free_port()
        command = [PROGRAM, f"--config.file={folder}/prometheus.yml"]
        command += [f"--storage.tsdb.path={folder}/data", f"--web.listen-address=127.0.0.1:{port}"]
        with (folder / "prometheus.log").open("wb") as log:
            process = stack.enter_context(subprocess.Popen(command, stdout=log, stderr=log))
        stack.callback(process.terminate)
        found = Prometheus(port)
        eventually(lambda: _reads(found, len(pods)), 60)
        yield found


def _reads(prometheus: Prometheus, pods: int) -> bool:
    try:
        return len(prometheus.ask("up == 1")) == pods
    except OSError:
        return False
