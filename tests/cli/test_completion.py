"""What Tab offers, to kubectl and to shells."""

import subprocess
import sys

import pytest

from trainingjobs.cli import app, completion


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["des"], ["describe\tShow a job: root cause, ranks, attempts, what to do next", ":4"]),
        (["list", "--all"], ["--all-namespaces\tOf all namespaces.", ":4"]),
        (["list", "-o", "y"], ["yaml", ":4"]),
        (["run-local", ""], [":0"]),
        (["absent", ""], None),
    ],
)
def test_kubectl_asks(typed: list[str], offered: list[str] | None) -> None:
    found = completion.answer(typed)
    assert found == offered if offered else found[-1] == ":4"


def test_all_commands_are_offered() -> None:
    offered = [line.partition("\t")[0] for line in completion.answer([""])[:-1]]
    assert offered == list(app.COMMANDS)


@pytest.mark.parametrize("typed", [["logs", "m"], ["-n", "lab", "why", ""]])
def test_without_a_cluster_no_jobs_are_offered(
    typed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/absent")
    assert completion.answer(typed) == [":4"]


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_a_script_for_every_shell(shell: str) -> None:
    made = completion.script(shell, "trainingjob")
    assert "_TRAININGJOB_COMPLETE" in made
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=made, text=True, check=True)


def test_the_program_that_kubectl_calls() -> None:
    code = "from trainingjobs.cli.completion import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "conv"], capture_output=True, text=True, check=True
    )
    assert done.stdout == "convert\tTurn other operators' jobs into TrainingJobs\n:4\n"
