"""Who has the page open: `kubectl tj ui`, a stream, and the next one when it has ended."""

import json
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from urllib.parse import parse_qs, urlsplit

from e2e.commandline import environment, tj
from e2e.harness import Namespace

_AGAIN = 1.0
"""Seconds until the page tries again."""
_SILENT = 45
"""Seconds after which it takes a connection without a word for dead."""


@dataclass(frozen=True, slots=True)
class Page:
    """One that shows a job."""

    stream: str
    token: str

    def tells(self, step: int, seconds: float) -> None:
        """Look until the job is seen at this step, however often the connection ends."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                seen = self._seen(step)
            except (OSError, HTTPException) as error:
                seen = repr(error)
            if seen is True:
                return
            assert time.monotonic() < deadline, f"the page has not come to step {step}: {seen}"
            time.sleep(_AGAIN)

    def _seen(self, step: int) -> bool | str:
        """What one stream tells until it ends, or comes to the step."""
        may = {"Authorization": f"Bearer {self.token}"}
        request = urllib.request.Request(self.stream, headers=may)  # noqa: S310
        said = "nothing"
        with urllib.request.urlopen(request, timeout=_SILENT) as answer:  # noqa: S310
            for line in answer:
                if line.startswith(b"data: "):
                    said = line[6:].decode()
                    if max(_steps(json.loads(said)), default=0) >= step:
                        return True
        return said


def _steps(told: object) -> Iterator[int]:
    """All that is called a step, at any depth."""
    if isinstance(told, dict):
        if isinstance(told.get("step"), int):
            yield told["step"]
        for part in told.values():
            yield from _steps(part)


@contextmanager
def at(lab: Namespace, job: str) -> Iterator[Page]:
    """The page of a job, as the command line opens it."""
    command = tj(lab.cluster.kubeconfig, lab, "ui", job)
    with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True) as way:
        try:
            assert way.stdout is not None
            address = urlsplit(way.stdout.readline().strip())
            (token,) = parse_qs(address.fragment)["token"]
            path = f"/api/v1/namespaces/{lab.name}/trainingjobs/{job}/stream"
            yield Page(f"http://{address.netloc}{path}", token)
        finally:
            way.terminate()
