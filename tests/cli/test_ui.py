"""`ui`: the page through the port-forward, with the token in a place that is sent to nobody."""

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import aiohttp
import pytest

from client.kubelets import Cluster, a_cluster, a_replica
from handlers.pods import a_scene
from trainingjobs.cli import screen
from trainingjobs.cli.commands import looking


def test_the_token_is_behind_the_hash() -> None:
    parts = urlsplit(looking.address(8_123, "a.b&c#d", "lab", "mnist"))
    assert (parts.hostname, parts.port, parts.path, parts.query) == ("127.0.0.1", 8_123, "/", "")
    assert parse_qs(parts.fragment) == {"token": ["a.b&c#d"], "at": ["/job/lab/mnist"]}


async def test_the_page_comes_through_the_port_forward(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: asyncio.Queue[str] = asyncio.Queue()
    async with a_scene() as scene:
        cluster = Cluster([a_replica(urlsplit(scene.url).port or 0)])
        async with a_cluster(cluster, tmp_path) as client:
            monkeypatch.setattr(screen, "connect", lambda: client)
            monkeypatch.setattr(screen, "write", lambda lines: told.put_nowait(*lines))
            shown = asyncio.create_task(looking._shown(None, 0, "", opens=False))  # noqa: SLF001
            try:
                at = urlsplit(await asyncio.wait_for(told.get(), 20))
                text = await _page(at)
            finally:
                shown.cancel()
                await asyncio.gather(shown, return_exceptions=True)
    assert 'src="ui/main.js"' in text
    assert parse_qs(at.fragment) == {"token": ["a-token"], "at": ["/"]}
    asked: Any = cluster.tokens[0][1]
    assert (asked["expirationSeconds"], asked["audiences"]) == (3_600, ["trainingjob.dev/status"])


async def _page(at: Any) -> str:
    async with aiohttp.ClientSession() as http, http.get(f"http://{at.netloc}/") as answer:
        return str(await answer.text())
