"""The README's first command, word by word, on a cluster that is up already."""

import os
import subprocess
from pathlib import Path

import pytest

from e2e import harness

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(900),
    pytest.mark.skipif(
        os.environ.get("CLUSTER") == "current", reason="a cluster of the user's own gets no job"
    ),
]
ROOT = Path(__file__).parents[2]


@pytest.mark.usefixtures("operator")
def test_the_main_job_runs(cluster: harness.Cluster, tmp_path: Path) -> None:
    done = subprocess.run(
        ["make", "quickstart"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    try:
        assert done.returncode == 0, done.stderr[-3000:]
        assert "epoch 15 of 15: loss" in done.stdout
        assert "\nsucceeded after " in done.stdout
        (way,) = [line for line in done.stdout.splitlines() if "export KUBECONFIG=" in line]
        typed = f"{way.strip()}; kubectl get trainingjob ddp -o jsonpath={{.status.phase}}"
        told = subprocess.run(
            ["bash", "-c", typed],
            env={"HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert told.stdout == "Succeeded"
    finally:
        cluster.kubectl("delete", "trainingjob", "ddp", "--namespace=default", "--wait=false")
