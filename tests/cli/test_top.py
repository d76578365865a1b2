"""The picture of `top`, and how often it asks."""

import asyncio
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
    assert shown.stdout.count("\x1b[H") > 10
    assert client.lists == 1
    assert "Error (9)" in shown.stdout


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
