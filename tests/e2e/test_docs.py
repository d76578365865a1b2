"""The page a newcomer begins with, command by command, as it stands there, on a real cluster.

What the example trains is checked by tests/e2e/test_examples_torch.py: here its pods do less.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from e2e.harness import Namespace
from pages import blocks

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

START = blocks.ROOT / "docs" / "index.md"
ELSEWHERE = {"docker", "venv", "~/tj/bin/pip", "export", "run-local", "submit"}
"""Images and environments of their own; tests/cli/test_run_local.py; tests/e2e/test_cli.py."""


PROGRAM = "import os, time; time.sleep(3); print('accuracy of rank', os.environ['RANK'])"


def a_checkout(folder: Path) -> Path:
    """The examples; ranks of the first do not train, and say something at their end."""
    shutil.copytree(blocks.ROOT / "examples", folder / "examples")
    path = folder / "examples" / "01-ddp" / "job.yaml"
    job = yaml.safe_load(path.read_text())
    (container,) = job["spec"]["template"]["spec"]["containers"]
    container["command"] = ["python", "-c", PROGRAM]
    path.write_text(yaml.safe_dump(job))
    return folder


def a_kubeconfig(lab: Namespace, folder: Path) -> Path:
    """The cluster's, with the lab as the namespace where none is said."""
    config = yaml.safe_load(lab.cluster.kubeconfig.read_text())
    for context in config["contexts"]:
        context["context"]["namespace"] = lab.name
    file = folder / "kubeconfig"
    file.write_text(json.dumps(config))
    return file


def really(words: tuple[str, ...], lab: Namespace) -> list[str]:
    """The command line as this machine has its programs."""
    if words[0] == "trainingjob" or words[1] == "tj":
        return [sys.executable, "-m", "trainingjobs.cli", *words[1 + (words[1] == "tj") :]]
    return [lab.cluster.program, *words[1:]]


def test_the_start_page_does_what_it_says(lab: Namespace, tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "KUBECONFIG": str(a_kubeconfig(lab, tmp_path)),
    }
    checkout, said = a_checkout(tmp_path / "checkout"), ""
    for command in blocks.commands(START):
        if ELSEWHERE & set(command.words):
            continue
        done = subprocess.run(
            really(command.words, lab),
            cwd=checkout,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        said += f"\n$ {command}\n{done.stdout}{done.stderr}"
        assert done.returncode == 0, said
    assert "2 1 Succeeded" in said, "a pod that was deleted costs one disruption"
    assert {f"[{rank}] accuracy of rank {rank}" for rank in range(3)} <= set(said.splitlines())
    print(said)  # noqa: T201 - pytest shows it where something is wrong, and with -s
