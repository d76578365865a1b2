"""The picture of `top`, and how often it asks."""

import asyncio
import re
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cli.clients import FakeClient, a_state
from cli.given import a_pod
from trainingjobs.cli import screen
from trainingjobs.cli.app import app
from trainingjobs.cli.commands import watching
from trainingjobs.client.job import Job, Manifest

TERMINATED = {"terminated": {"exitCode": 9, "reason": "Error"}}


class Watched(FakeClient):
    """Its pods change while they are watched."""

    def __init__(self, *states: Job) -> None:
        super().__init__(*states)
        self.lists = 0

    async def get_job_pods(self, job: Job) -> list[Manifest]:
        """One pod that runs."""
        del job
        self.lists += 1
        return [a_pod(0)]

    async def watch_pods(self, job: Job) -> AsyncGenerator[Manifest, None]:
        """It ends."""
        del job
        yield a_pod(0, state=TERMINATED)


def top(monkeypatch: pytest.MonkeyPatch, client: FakeClient, **env: str) -> Result:
    monkeypatch.setattr(screen, "connect", lambda: client)
    monkeypatch.setattr(screen, "at_terminal", lambda: True)
    monkeypatch.setattr(watching, "_SECONDS", 0.01)
    return CliRunner().invoke(app, ["top", "mnist"], env={"TERM": "xterm", **env}, color=True)


def test_pods_are_watched_and_not_listed_for_each_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Watched(*[a_state("Running")] * 20, a_state("Succeeded"))
    monkeypatch.setattr(watching, "_follow", slowly)
    shown = top(monkeypatch, client)
    assert shown.exit_code == 0, shown.output
    assert shown.stdout.count("Error (9)") > 10
    assert client.lists == 1


async def slowly(client: FakeClient, name: str, latest: Any) -> None:
    """A state for each picture."""
    async for job in client.watch_job(name):
        await latest.put(job)
        await asyncio.sleep(0.02)
        if job.finished:
            return


def test_no_colour_is_no_bold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    bold = top(monkeypatch, Watched(a_state("Running"), a_state("Succeeded")))
    plain = top(monkeypatch, Watched(a_state("Running"), a_state("Succeeded")), NO_COLOR="1")
    assert "\x1b[1m" in bold.stdout
    assert "\x1b[1m" not in plain.stdout
    assert "Ranks:" in plain.stdout


def test_a_picture_is_no_larger_than_the_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last one stays, so it is whole."""
    monkeypatch.setattr(watching, "_follow", slowly)
    states = a_state("Running"), a_state("Running"), a_state("Succeeded")
    shown = top(monkeypatch, Watched(*states), COLUMNS="20", LINES="6")
    text = re.sub(r"\x1b\[[0-9;?]*[mlh]", "", shown.stdout)
    pictures = [it.splitlines() for it in re.split(r"\r?\x1b\[2K(?:\x1b\[1A\x1b\[2K)*", text)]
    assert all(len(row) <= 20 for picture in pictures for row in picture), pictures
    assert [len(picture) for picture in pictures[:-1]] == [6] * len(states)
    assert len(pictures[-1]) > 6


def test_a_terminal_that_cannot_draw_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = top(monkeypatch, Watched(a_state("Succeeded")), TERM="dumb")
    assert shown.exit_code == 0, shown.output
    assert shown.stdout.count("Ranks:") == 1
    assert "\x1b" not in shown.stdout


def test_the_cursor_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = top(monkeypatch, Watched(a_state("Running"), a_state("Succeeded")))
    hidden, back = shown.stdout.rfind("\x1b[?25l"), shown.stdout.rfind("\x1b[?25h")
    assert 0 <= hidden < back
