"""What people type as a name goes nowhere unless it is one."""

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from client.served import a_client, a_kubeconfig, answered, status
from trainingjobs.cli.app import app
from trainingjobs.client.aio import AsyncTrainingJobClient
from trainingjobs.client.errors import ClientError

Act = Callable[[AsyncTrainingJobClient, str], Coroutine[Any, Any, Any]]
ODD = ["", ".", "..", "a/", "/a", "?x", "#x", "a%2f", "*", "A", "a\n", "a" * 254]


async def _watched(client: AsyncTrainingJobClient, name: str) -> None:
    async for _ in client.watch_job(name):
        pass


ACTS: dict[str, Act] = {
    "get": lambda client, name: client.get_job(name),
    "patch": lambda client, name: client.patch_job(name, {"spec": {"suspend": True}}),
    "delete": lambda client, name: client.delete_job(name),
    "retry": lambda client, name: client.retry_job(name),
    "watch": _watched,
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
async def test_no_request_leaves_for_what_is_no_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: Act, name: str
) -> None:
    asked = answered(monkeypatch, lambda _: status(200))
    async with a_client(tmp_path) as client:
        with pytest.raises(ClientError, match="no job's name"):
            await act(client, name)
    assert not asked


@pytest.mark.parametrize("typed", ["", "trainingjob/", ".", "?x"])
def test_cancel_never_means_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str
) -> None:
    asked = answered(monkeypatch, lambda _: status(200))
    config = str(a_kubeconfig(tmp_path))
    ended = CliRunner().invoke(app, ["cancel", "--kubeconfig", config, "mnist", typed])
    assert ended.exit_code == 1
    assert "no job's name" in ended.stderr
    assert not asked


async def test_a_name_goes_where_it_should(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answered(monkeypatch, lambda _: status(200))
    async with a_client(tmp_path, namespace="lab") as client:
        await client.delete_job("a.b-1")
    assert asked == ["DELETE /apis/trainingjob.dev/v1/namespaces/lab/trainingjobs/a.b-1"]


@pytest.mark.parametrize("odd", ["*", "..", "a/b", "a.b", "?", "a" * 64])
def test_a_namespace_is_one_too(tmp_path: Path, odd: str) -> None:
    with pytest.raises(ClientError, match="no namespace"):
        a_client(tmp_path, namespace=odd)


async def test_of_a_manifest_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answered(monkeypatch, lambda _: status(200))
    async with a_client(tmp_path) as client:
        with pytest.raises(ClientError, match="no namespace"):
            await client.create_job({"metadata": {"name": "m", "namespace": "../x"}})
    assert not asked
