"""`submit` and `logs -f` to the end of a job that is gone, or made anew, by then."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from builders import a_body
from cli.clients import FakeClient, a_state
from trainingjobs.cli import screen
from trainingjobs.cli.app import app
from trainingjobs.client.errors import RefusedError
from trainingjobs.client.job import Job

FORBIDDEN = RefusedError("pods/log is forbidden")
STALLED = {"type": "Stalled", "status": "True"}


def told(status: dict[str, Any]) -> Job:
    job = a_state("Running")
    return replace(job, manifest={**job.manifest, "status": status})


def call(monkeypatch: pytest.MonkeyPatch, client: FakeClient, *args: str) -> Result:
    monkeypatch.setattr(screen, "connect", lambda: client)
    return CliRunner().invoke(app, list(args))


@pytest.fixture
def manifest(tmp_path: Path) -> str:
    path = tmp_path / "job.yaml"
    body = a_body(3)
    body["metadata"] = {"name": "mnist", "namespace": "other"}
    path.write_text(yaml.safe_dump(body))
    return str(path)


def test_a_job_is_followed_where_its_manifest_puts_it(
    monkeypatch: pytest.MonkeyPatch, manifest: str
) -> None:
    client = FakeClient(a_state("Pending"), a_state("Succeeded"))
    done = call(monkeypatch, client, "submit", manifest)
    assert done.exit_code == 0, done.output
    assert set(client.asked) == {"other"}
    assert "cancel mnist -n other` ends it" in done.stderr


@pytest.mark.parametrize(("phase", "code"), [("Succeeded", 0), ("Failed", 1)])
@pytest.mark.parametrize("wrong", [None, FORBIDDEN], ids=["logs", "logs that may not be read"])
def test_the_exit_code_is_that_of_the_job_that_was_seen(
    monkeypatch: pytest.MonkeyPatch,
    manifest: str,
    *,
    phase: str,
    code: int,
    wrong: Exception | None,
) -> None:
    client = FakeClient(a_state("Running"), a_state(phase), wrong=wrong)
    done = call(monkeypatch, client, "submit", manifest)
    assert done.exit_code == code, done.output
    assert f"--- mnist is {phase} ---" in done.stderr
    assert ("logs are not shown: pods/log is forbidden" in done.stderr) == (wrong is not None)


@pytest.mark.parametrize(("phase", "code"), [("Succeeded", 0), ("Running", 1)])
def test_logs_end_well_with_a_job_that_is_gone(
    monkeypatch: pytest.MonkeyPatch, phase: str, code: int
) -> None:
    client = FakeClient(a_state("Running"), a_state(phase))
    done = call(monkeypatch, client, "logs", "-f", "mnist")
    assert done.exit_code == code, done.output
    assert done.stdout == "[0] line 0\n[0] line 1\n"


def test_another_job_of_the_name_is_not_taken_for_it(
    monkeypatch: pytest.MonkeyPatch, manifest: str
) -> None:
    client = FakeClient(a_state("Running"), a_state("Succeeded", uid="u2"))
    done = call(monkeypatch, client, "submit", manifest)
    assert done.exit_code == 1
    assert "another of its name was made" in done.stderr


@pytest.mark.parametrize("args", [["submit"], ["logs", "-f"]], ids=["submit", "logs"])
def test_who_follows_is_told_what_the_ranks_do_not_say(
    monkeypatch: pytest.MonkeyPatch, manifest: str, args: list[str]
) -> None:
    """The lines just stop where a rank hangs, and never begin where pods are refused."""
    stalled = {"phase": "Running", "message": "rank 2 hangs", "conditions": [STALLED]}
    refused = {"phase": "Pending", "message": "0/3: pods are forbidden"}
    client = FakeClient(a_state("Running"), told(refused), told(stalled), a_state("Succeeded"))
    done = call(monkeypatch, client, *args, manifest if args == ["submit"] else "mnist")
    assert "--- Pending: 0/3: pods are forbidden ---" in done.stderr
    assert "--- Running: rank 2 hangs ---" in done.stderr
    assert "--- Running ---" not in done.stderr


@pytest.mark.parametrize("form", ["name", "json", "yaml"])
def test_a_form_for_programs_is_followed_by_nothing(
    monkeypatch: pytest.MonkeyPatch, manifest: str, form: str
) -> None:
    client = FakeClient(a_state("Running"), a_state("Failed"))
    done = call(monkeypatch, client, "submit", manifest, "-o", form)
    assert done.exit_code == 0
    assert "line 0" not in done.stdout
    if form != "name":
        assert yaml.safe_load(done.stdout)["metadata"]["name"] == "mnist"


class Shut:
    """An output whose reader has gone."""

    def write(self, text: str) -> int:
        """Fail as a pipe does."""
        raise BrokenPipeError(32, text)

    def isatty(self) -> bool:
        """It is none."""
        return False


def test_a_reader_that_leaves_ends_the_stream_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    from trainingjobs.cli.commands import logs  # noqa: PLC0415  commands are loaded when called

    client = FakeClient(a_state("Running"), a_state("Succeeded"))
    monkeypatch.setattr("sys.stdout", Shut())

    async def read() -> bool:
        with pytest.raises(BrokenPipeError):
            await logs.stream(client, a_state("Running"), follow=False)  # type: ignore[arg-type]
        return client.closed

    assert asyncio.run(read())


@pytest.mark.parametrize("args", [["-f"], []], ids=["followed", "read"])
def test_ranks_that_the_job_has_not_are_told(
    monkeypatch: pytest.MonkeyPatch, args: list[str]
) -> None:
    client = FakeClient(a_state("Running"), a_state("Succeeded"))
    done = call(monkeypatch, client, "logs", "mnist", "--rank", "7", *args)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == "error: mnist has the ranks 0 to 2\n"


@pytest.mark.parametrize(("args", "code"), [(["-f"], 0), ([], 1)], ids=["followed", "read"])
def test_a_job_without_pods_is_told_at_once(
    monkeypatch: pytest.MonkeyPatch, args: list[str], code: int
) -> None:
    client = FakeClient(a_state("Pending"), a_state("Succeeded"))
    done = call(monkeypatch, client, "logs", "mnist", *args)
    assert done.exit_code == code
    assert "mnist has no pods (Pending): `app why mnist` tells more" in done.stderr


@pytest.mark.parametrize(
    ("states", "args", "code"),
    [
        (["Succeeded"], [], 0),
        (["Running", "Failed"], [], 1),
        (["Running"], [], 3),
        (["Running"], ["--for", "running"], 0),
    ],
    ids=["done", "failed", "deleted", "running"],
)
def test_failed_is_not_cannot_tell(
    monkeypatch: pytest.MonkeyPatch, states: list[str], args: list[str], code: int
) -> None:
    client = FakeClient(*map(a_state, states))
    assert call(monkeypatch, client, "wait", "mnist", *args).exit_code == code
