"""`ui`: the page through the port-forward, with the token in a place that is sent to nobody."""

import asyncio
import html
import os
import webbrowser
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import aiohttp
import pytest
from click.testing import CliRunner

from client.kubelets import Cluster, a_cluster, a_replica
from handlers.pods import a_scene
from trainingjobs.cli import screen
from trainingjobs.cli.app import app
from trainingjobs.cli.commands import looking


def test_the_token_is_behind_the_hash() -> None:
    parts = urlsplit(looking.address(8_123, "a.b&c#d", looking.place("lab", "mnist")))
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
            shown = asyncio.create_task(looking._shown(None, 0, "", "", opens=False))  # noqa: SLF001
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


@pytest.mark.parametrize(("chosen", "at"), [("", "/"), ("lab", "/?namespace=lab")])
def test_a_namespace_that_is_asked_for_is_shown(chosen: str, at: str) -> None:
    told = looking.address(8_123, "a-token", looking.place(chosen))
    assert parse_qs(urlsplit(told).fragment)["at"] == [at]


def test_the_namespace_of_the_command_line_reaches_the_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[Any] = []

    async def shown(*given: Any, opens: bool) -> None:
        told.append((*given, opens))

    monkeypatch.setattr(looking, "_shown", shown)
    for args in (["ui"], ["ui", "-n", "lab"], ["-n", "lab", "ui"]):
        assert CliRunner().invoke(app, args).exit_code == 0
    assert [chosen for _, _, _, chosen, _ in told] == ["", "lab", "lab"]


async def test_no_program_is_started_with_the_token(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is on the machine reads the arguments of all programs."""
    started: list[str] = []
    found: list[tuple[str, int, int]] = []

    def started_with(url: str) -> bool:
        file = Path(urlsplit(url).path)
        started.append(url)
        modes = file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777
        found.append((file.read_text(), *modes))
        return True

    monkeypatch.setattr(webbrowser, "open", started_with)
    monkeypatch.setattr(looking, "_READ_SECONDS", 0.0)
    at = looking.address(8_123, 'se"cret', "/?namespace=lab")
    await looking._opened(at)  # noqa: SLF001
    assert [it for it in started if "cret" in it or not it.startswith("file:///")] == []
    ((text, mode, folder),) = found
    assert html.escape(at) in text
    assert (mode, folder) == (0o600, 0o700)
    assert not os.path.exists(urlsplit(started[0]).path)  # noqa: ASYNC240, PTH110  it is gone
