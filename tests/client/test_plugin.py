"""The exec plugin of a kubeconfig is started once, however many ask at a time."""

import asyncio
from pathlib import Path

import httpx2
import pytest

from client.served import a_kubeconfig, answered
from trainingjobs.client.aio import AsyncTrainingJobClient
from trainingjobs.client.errors import ClientError

pytestmark = pytest.mark.timeout(20)
PLUGIN = """#!/bin/sh
echo x >> "$1"
echo "{\\"status\\": {\\"token\\": \\"t$(wc -l < "$1" | tr -d ' ')\\"}}"
"""


def a_client(folder: Path, words: str = PLUGIN) -> AsyncTrainingJobClient:
    """A client whose kubeconfig has a plugin beside it."""
    (folder / "plugin").write_text(words)
    (folder / "plugin").chmod(0o755)
    version = "client.authentication.k8s.io/v1"
    asked = {"apiVersion": version, "command": "./plugin", "args": [str(folder / "count")]}
    return AsyncTrainingJobClient(kubeconfig=str(a_kubeconfig(folder, user={"exec": asked})))


async def test_one_start_for_all_and_one_when_its_token_is_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = "Bearer t1"

    def answer(request: httpx2.Request) -> httpx2.Response:
        known = request.headers["Authorization"] == right
        return httpx2.Response(200 if known else 401, json={"metadata": {"name": "m"}})

    answered(monkeypatch, answer)
    async with a_client(tmp_path) as client:
        await asyncio.gather(*(client.raw.get("version") for _ in range(20)), client.get_job("m"))
        assert (tmp_path / "count").read_text() == "x\n"
        right = "Bearer t2"
        await asyncio.gather(*(client.raw.get("version") for _ in range(20)), client.get_job("m"))
        assert (tmp_path / "count").read_text() == "x\nx\n"
        right = "Bearer never"
        with pytest.raises(ClientError, match="log in to the cluster again"):
            await client.get_job("m")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("#!/bin/sh\necho hello", "plugin answers what is no credential"),
        ("#!/bin/sh\necho '{\"status\": {}}'", "has no 'token'"),
        ("#!/bin/sh\necho log in first >&2; exit 1", "log in first"),
    ],
)
async def test_a_plugin_that_fails_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, said: str
) -> None:
    asked = answered(monkeypatch, lambda _: httpx2.Response(200))
    async with a_client(tmp_path, words) as client:
        with pytest.raises(ClientError, match=said):
            await client.get_job("m")
    assert not asked
