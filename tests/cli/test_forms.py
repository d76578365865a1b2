"""`-o`: what commands that change or judge a job tell programs."""

import json
from dataclasses import replace
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from cli.clients import FakeClient, a_state
from trainingjobs.cli import screen
from trainingjobs.cli.app import app
from trainingjobs.client.job import Job, Manifest

NAME = "trainingjob.trainingjob.dev/mnist"


class Changing(FakeClient):
    """One that keeps what it was told to change."""

    def __init__(self, *states: Job) -> None:
        super().__init__(*states)
        self.deleted = list[str]()

    async def patch_job(self, name: str, change: Manifest) -> Job:
        """The job, changed."""
        assert name == "mnist"
        job = self.states[0]
        return replace(job, manifest={**job.manifest, "spec": {**job.spec, **change["spec"]}})

    async def delete_job(self, name: str) -> None:
        """Gone."""
        self.deleted.append(name)

    async def retry_job(self, name: str, new_name: str | None) -> str:
        """Another name."""
        del new_name
        return name

    async def get_job_events(self, job: Job) -> list[Manifest]:
        """None."""
        del job
        return []


def called(monkeypatch: pytest.MonkeyPatch, *args: str, phase: str = "Running") -> Result:
    client = Changing(a_state(phase))
    monkeypatch.setattr(screen, "connect", lambda: client)
    return CliRunner().invoke(app, list(args), prog_name="tj")


@pytest.mark.parametrize(
    ("args", "phase", "said"),
    [
        (["cancel", "mnist"], "Running", "deleted"),
        (["suspend", "mnist"], "Running", "suspended"),
        (["resume", "mnist"], "Running", "unchanged"),
        (["scale", "mnist", "5"], "Running", "scaled to 5"),
        (["retry", "mnist", "--no-wait"], "Failed", "created"),
    ],
)
def test_a_change_is_told_in_kubectls_words(
    monkeypatch: pytest.MonkeyPatch, args: list[str], phase: str, said: str
) -> None:
    assert called(monkeypatch, *args, phase=phase).stdout == f"{NAME} {said}\n"
    assert called(monkeypatch, *args, "-o", "name", phase=phase).stdout == f"{NAME}\n"


@pytest.mark.parametrize(
    ("args", "phase", "spec"),
    [
        (["suspend", "mnist"], "Running", {"suspend": True}),
        (["scale", "mnist", "5"], "Running", {"PARALLEL_INSTANCES": 5}),
        (["resume", "mnist"], "Running", {}),
        (["retry", "mnist"], "Failed", {}),
        (["wait", "mnist"], "Succeeded", {}),
    ],
)
def test_the_job_as_it_is_then(
    monkeypatch: pytest.MonkeyPatch, args: list[str], phase: str, spec: Any
) -> None:
    as_json = json.loads(called(monkeypatch, *args, "-o", "json", phase=phase).stdout)
    as_yaml = yaml.safe_load(called(monkeypatch, *args, "-o", "yaml", phase=phase).stdout)
    assert as_json == as_yaml
    assert (as_json["kind"], as_json["metadata"]["name"]) == ("TrainingJob", "mnist")
    assert {**as_json["spec"], **spec} == as_json["spec"]


def test_wait_keeps_its_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    done = called(monkeypatch, "wait", "mnist", "-o", "name", phase="Failed")
    assert (done.exit_code, done.stdout) == (1, f"{NAME}\n")


def test_why_in_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    told = json.loads(called(monkeypatch, "why", "mnist", "-o", "json", phase="Suspended").stdout)
    assert (told["name"], told["namespace"], told["phase"]) == ("mnist", "lab", "Suspended")
    assert told["why"].startswith("mnist is suspended")
