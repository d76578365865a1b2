"""A watch that fails begins anew instead of ending the operator; one that does well goes on."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from types import SimpleNamespace
from typing import Any

import kopf
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from kopf._cogs.clients import auth, fetching, watching
from kopf._cogs.structs import credentials, references

from handlers.instant import run
from trainingjobs.handlers import endurance, process


async def _watch(**_: Any) -> AsyncIterator[int]:
    yield 1
    raise ValueError("half a line")


def test_a_failed_watch_ends_in_peace_and_the_next_is_a_lapse(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lapsed: list[str] = []
    begun: list[tuple[str, float]] = []
    monkeypatch.setattr(watching, "continuous_watch", None)
    monkeypatch.setattr(watching, "watch_objs", None)
    monkeypatch.setattr(endurance, "_KOPFS", _watch)
    endurance.install(lapsed.append, lambda *watch: begun.append(watch))

    async def all_of(plural: str, namespace: str | None) -> list[int]:
        resource = SimpleNamespace(plural=plural)
        return [
            it async for it in watching.continuous_watch(resource=resource, namespace=namespace)
        ]

    assert run(all_of("pods", "a")) == [1]
    assert run(all_of("pods", "b")) == [1]
    assert lapsed == []
    assert run(all_of("pods", "a")) == [1]
    assert lapsed == ["pods"]
    names = ["watch of pods in a", "watch of pods in b", "watch of pods in a"]
    assert begun == [(name, endurance.LONGEST_SECONDS) for name in names]


def test_what_is_taken_in_goes_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    async def three(**_: Any) -> AsyncIterator[int]:
        for number in range(3):
            yield number

    monkeypatch.setattr(watching, "continuous_watch", None)
    monkeypatch.setattr(watching, "watch_objs", None)
    monkeypatch.setattr(endurance, "_KOPFS", three)
    endurance.install(lambda _: None, lambda *_: None, lambda what, it: (what, it) == ("pods", 1))

    async def all_of(plural: str) -> list[int]:
        options = {"resource": SimpleNamespace(plural=plural), "namespace": None}
        return [it async for it in watching.continuous_watch(**options)]

    assert run(all_of("pods")) == [0, 2]
    assert run(all_of("trainingjobs")) == [0, 1, 2]


async def test_what_was_listed_a_moment_ago_is_not_read_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first watch goes on from our own list; one that begins anew lists what is there."""

    async def kopfs(**_: Any) -> AsyncIterator[Any]:
        yield ["a pod"], "9"

    versions = {("pods", "a"): "5"}
    monkeypatch.setattr(fetching, "fetch_objs", None)
    monkeypatch.setattr(endurance, "_KOPFS_LIST", kopfs)
    endurance.go_on(lambda plural, namespace: versions.pop((plural, namespace), None))

    async def pages(plural: str) -> list[Any]:
        options = {"resource": SimpleNamespace(plural=plural), "namespace": "a"}
        return [it async for it in fetching.fetch_objs(**options)]

    assert await pages("pods") == [((), "5")]
    assert await pages("pods") == [(["a pod"], "9")]
    assert await pages("services") == [(["a pod"], "9")]


PODS = references.Resource("", "v1", "pods", kind="Pod", namespaced=True, verbs=frozenset({"list"}))
Answer = Callable[[web.Request], Coroutine[Any, Any, web.StreamResponse]]


async def ended(request: web.Request) -> web.StreamResponse:
    """A watch whose time is over, with nothing to tell but how far it is."""
    bookmark = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "5"}}}
    return await listed(request) or web.json_response(bookmark)


async def silent(request: web.Request) -> web.StreamResponse:
    """A server that takes a watch and never says a word of it, as one that is no more."""
    return await listed(request) or await asyncio.sleep(60, web.Response())


async def listed(request: web.Request) -> web.StreamResponse:
    if "watch" in request.query:
        return None  # type: ignore[return-value]
    return web.json_response({"metadata": {"resourceVersion": "1"}, "items": []})


@pytest.mark.parametrize("answer", [ended, silent])
async def test_a_watch_whose_requests_come_to_their_end_lives(
    answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It makes request after request and never begins anew: 990 s after its begin it was ill."""
    monkeypatch.setattr(watching, "continuous_watch", None)
    monkeypatch.setattr(watching, "watch_objs", None)
    lapsed: list[str] = []
    begun: asyncio.Queue[str] = asyncio.Queue()
    endurance.install(lapsed.append, lambda name, _: begun.put_nowait(name))
    own = process.settings()
    own.watching.inactivity_timeout = 0.1
    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    async with TestServer(app) as server:
        vault = credentials.Vault()
        await vault.populate({"x": kopf.ConnectionInfo(server=str(server.make_url("/")))})
        auth.vault_var.set(vault)
        watch = asyncio.create_task(_all(own))
        names = [await asyncio.wait_for(begun.get(), 10) for _ in range(4)]
        watch.cancel()
        await asyncio.gather(watch, return_exceptions=True)
        await vault.close()
    assert names == ["watch of pods in the cluster"] * 4
    assert lapsed == []


async def _all(own: kopf.OperatorSettings) -> None:
    async for _ in watching.infinite_watch(settings=own, resource=PODS, namespace=None):
        pass
