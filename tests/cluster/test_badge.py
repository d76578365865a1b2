"""The leader's label: on one pod, and off all others, also where their processes are dead."""

import asyncio
from typing import Any

import pytest

from cluster.fakeapi import FakeApi
from handlers.instant import run
from trainingjobs.cluster.badge import Badge
from trainingjobs.cluster.errors import ApiError

PODS = "/api/v1/namespaces/ours/pods"
LABEL = "trainingjob.dev/leader"


class Desk:
    """A badge of pod `a`, among the pods `a` and `b`."""

    def __init__(self) -> None:
        self.api = FakeApi()
        self.holds = False
        self.badge = Badge(self.api, "ours", "a", lambda: self.holds)  # type: ignore[arg-type]
        for name in "ab":
            self.api.add(f"{PODS}/{name}", {"metadata": {"name": name, "labels": {LABEL: "true"}}})

    @property
    def labelled(self) -> list[str]:
        """The pods with the label."""
        found: list[Any] = [self.api.objects.get(f"{PODS}/{name}") for name in "ab"]
        return [it["metadata"]["name"] for it in found if it and LABEL in it["metadata"]["labels"]]


@pytest.fixture
def patched(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fake keeps what a patch says of labels."""

    def patch(self: FakeApi, at: str, body: dict[str, Any]) -> dict[str, Any]:
        labels = self.objects[at]["metadata"]["labels"]
        for key, value in body["metadata"]["labels"].items():
            labels.pop(key, None)
            if value is not None:
                labels[key] = value
        return self.objects[at]

    monkeypatch.setattr(FakeApi, "_patch", patch)


@pytest.mark.usefixtures("patched")
def test_a_new_process_takes_off_what_the_one_before_it_wore() -> None:
    desk = Desk()
    assert run(desk.badge.tell())
    assert desk.labelled == ["b"]


@pytest.mark.usefixtures("patched")
@pytest.mark.parametrize("before", ["b_1", "gone_1", "a_0", ""])
def test_the_leader_takes_it_off_whoever_wore_it(before: str) -> None:
    desk = Desk()
    desk.holds = True
    desk.badge.change(before)
    assert run(desk.badge.tell())
    assert desk.labelled == (["a"] if before == "b_1" else ["a", "b"])


@pytest.mark.usefixtures("patched")
def test_it_is_tried_until_it_is_done() -> None:
    async def scenario() -> None:
        desk = Desk()
        desk.api.refuse = lambda _method, _path: ApiError(0, "Unreachable", "not now")
        keeper = asyncio.create_task(desk.badge.keep())
        desk.holds = True
        desk.badge.change("b_1")
        await asyncio.sleep(60)
        assert desk.labelled == ["a", "b"]
        desk.api.refuse = lambda _method, _path: None
        await asyncio.sleep(6)
        assert desk.labelled == ["a"]
        desk.holds = False
        desk.badge.change()
        await asyncio.sleep(1)
        assert desk.labelled == []
        keeper.cancel()

    run(scenario())
