"""The command line: files or the standard input, exit codes, which stream says what."""

import io
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
        "the operator sets it; read it as before\n"
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
