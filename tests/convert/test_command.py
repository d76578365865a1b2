"""The command line: files or the standard input, exit codes, which stream says what."""

import io
import subprocess
import sys
from pathlib import Path

import pytest

from convert.test_documents import JOB
from trainingjobs.convert.__main__ import main


def test_files_and_the_standard_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(JOB.replace("pytorch, image", "pytorch, env: [{name: RANK}], image"))
    monkeypatch.setattr("sys.stdin", io.StringIO(JOB.replace("one}", "two}")))
    assert main([str(file), "-"]) == 0
    out, err = capsys.readouterr()
    assert [line for line in out.splitlines() if "name: o" in line or "name: t" in line] == [
        "  name: one",
        "      - name: trainer",
        "  name: two",
        "      - name: trainer",
    ]
    assert err == (
        "PyTorchJob/one: spec.pytorchReplicaSpecs.Master.template.spec.containers[0].env.RANK: "
        "it is not a template's to set; read it as before with framework PyTorch; TensorFlow has "
        "TF_CONFIG, JAX and MPI names of their own; it counts processes, where an instance has "
        "several (NODE_RANK, NNODES do not)\n"
    )


def test_a_job_that_cannot_be_converted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "job.yaml"
    file.write_text("apiVersion: kubeflow.org/v1\nkind: XGBoostJob\nmetadata: {name: x}\n")
    assert main([str(file)]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("XGBoostJob/x: not converted: ")


@pytest.mark.parametrize("content", [None, b"\xff\xfe"], ids=["no such file", "no text"])
def test_a_file_that_cannot_be_read(
    content: bytes | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "job.yaml"
    if content is not None:
        file.write_bytes(content)
    assert main([str(file)]) == 2
    assert capsys.readouterr().err


def _run(redirected: str, text: str = JOB) -> subprocess.CompletedProcess[str]:
    command = f"'{sys.executable}' -m trainingjobs.convert - {redirected}"
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        input=text, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_a_closed_input_and_a_reader_that_has_gone_leave_no_trace() -> None:
    done = _run("<&-")
    assert (done.returncode, done.stderr) == (2, "-: the standard input is closed\n")
    command = [sys.executable, "-m", "trainingjobs.convert", "-"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as gone:
        assert gone.stdin
        assert gone.stdout
        assert gone.stderr
        gone.stdout.close()
        gone.stdin.write(JOB)
        gone.stdin.close()
        assert gone.stderr.read() == ""
    assert gone.returncode == 1


def test_escape_codes_in_names_are_not_sent_to_the_terminal() -> None:
    done = _run("", JOB.replace("one}", '"\\e[31m"}').replace("Master", "Boss"))
    assert done.returncode == 1
    assert "\x1b" not in done.stderr
    assert "x1b[31m" in done.stderr
