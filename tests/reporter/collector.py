"""An operator's ear: takes reports over HTTP, checks each, and waits for what must come."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from pydantic import ValidationError

from trainingjobs.model.report import MAX_BODY, Report

PATIENCE = 200.0


@dataclass
class Heard:
    """One report, and how it came."""

    report: Report
    token: str
    at: float


@dataclass
class Answering:
    """What the collector answers."""

    status: int = 200
    body: bytes = b'{"interval": 1}'
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0


class Collector:
    """All that was heard, in order."""

    def __init__(self) -> None:
        self.heard: list[Heard] = []
        self.faults: list[str] = []
        self.tries = 0
        self.answering = Answering()
        self.news = threading.Condition()
        self.url = ""

    def take(self, body: bytes, token: str) -> None:
        """Check a report and keep it."""
        with self.news:
            self.tries += 1
            try:
                assert len(body) <= MAX_BODY
                assert set(json.loads(body)) <= known_fields()
                self.heard.append(Heard(Report.model_validate_json(body), token, time.monotonic()))
            except (ValidationError, ValueError, AssertionError) as error:
                self.faults.append(f"{error}: {body[:2000]!r}")
            self.news.notify_all()

    def wait(self, wanted: Callable[[Report], Any], patience: float = PATIENCE) -> Report:
        """The first report, of now or later, that is wanted."""
        with self.news:
            found = self.news.wait_for(lambda: self.first(wanted), patience)
        assert found, f"not heard; last of each process: {self.last()}"
        return found

    def first(self, wanted: Callable[[Report], Any]) -> Report | None:
        """Of those heard by now."""
        return next((heard.report for heard in self.heard if wanted(heard.report)), None)

    def last(self) -> dict[str, Report]:
        """What each process said last."""
        return {heard.report.process: heard.report for heard in self.heard}

    def of(self, rank: int) -> list[Report]:
        """What one rank has said, in order."""
        return [heard.report for heard in self.heard if heard.report.rank == rank]


def known_fields() -> set[str]:
    return {str(field.alias) for field in Report.model_fields.values()}


class Handler(BaseHTTPRequestHandler):
    """One request."""

    collector: Collector

    def do_POST(self) -> None:
        """Take it, and answer as we are told to."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        answering = self.collector.answering
        assert self.path == "/api/v1/reports"
        assert self.headers["Content-Type"] == "application/json"
        self.collector.take(body, self.headers.get("Authorization", ""))
        time.sleep(answering.delay)
        self.send_response(answering.status)
        for name, value in answering.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answering.body)))
        self.end_headers()
        self.wfile.write(answering.body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector that listens on this machine, and that has heard nothing wrong."""
    collector = Collector()
    handler = type("Bound", (Handler,), {"collector": collector})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.handle_error = lambda *_: None  # type: ignore[method-assign]  # who hung up, hung up
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        collector.url = f"http://127.0.0.1:{server.server_port}/api/v1/reports"
        try:
            yield collector
        finally:
            server.shutdown()
            thread.join()
    assert not collector.faults, collector.faults
