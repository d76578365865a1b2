"""A client whose requests go nowhere: they are kept, and answered as the test says."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from trainingjobs.client import transport
from trainingjobs.client.aio import AsyncTrainingJobClient

Answer = Callable[[httpx2.Request], httpx2.Response]


def a_kubeconfig(folder: Path, *, user: Any = None, cluster: Any = None, **context: Any) -> Path:
    """A kubeconfig with one context."""
    parts = {
        "clusters": [{"name": "c", "cluster": {"server": "http://cluster:1", **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {"token": "t"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", **context}}],
        "current-context": "x",
    }
    file = folder / "config"
    file.write_text(json.dumps(parts))
    return file


def answered(monkeypatch: pytest.MonkeyPatch, answer: Answer) -> list[str]:
    """What is asked from now on, as `DELETE /path`; this answers."""
    found: list[str] = []

    def keep(request: httpx2.Request) -> httpx2.Response:
        found.append(f"{request.method} {request.url.raw_path.decode()}")
        return answer(request)

    monkeypatch.setattr(transport, "plain", lambda _: httpx2.MockTransport(keep))
    return found


def a_client(folder: Path, **chosen: Any) -> AsyncTrainingJobClient:
    """A client of that kubeconfig."""
    return AsyncTrainingJobClient(kubeconfig=str(a_kubeconfig(folder)), **chosen)


def status(code: int, message: str = "", **details: Any) -> httpx2.Response:
    """An answer of the API server that is no object."""
    body = {"kind": "Status", "code": code, "message": message, "details": details}
    headers = {"Content-Type": "application/json"}
    return httpx2.Response(code, content=json.dumps(body), headers=headers)
