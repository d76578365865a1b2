"""A watch that fails begins anew instead of ending the operator."""

from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest
from kopf._cogs.clients import watching

from handlers.instant import run
from trainingjobs.handlers import endurance


async def _watch(**_: Any) -> AsyncIterator[int]:
    yield 1
    raise ValueError("half a line")


def test_a_failed_watch_ends_in_peace_and_the_next_is_a_lapse(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lapsed: list[str] = []
    begun: list[tuple[str, float]] = []
    monkeypatch.setattr(watching, "continuous_watch", None)
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
