"""How long the command line takes until it asks the cluster, or is done: `make bench-start`.

Each command is a process of its own; the cluster is an address that refuses at once, so what is
left is our own start. What asks once more when it is refused (`why`, `logs`) is not here: that
would measure its patience. The best of several counts, as a busy machine makes others slower.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

RUNS: Final = int(os.environ.get("BENCH_RUNS", "7"))
TARGET: Final = 0.3
KUBECONFIG: Final = """\
apiVersion: v1
kind: Config
current-context: nobody
clusters: [{name: nobody, cluster: {server: "https://127.0.0.1:1", insecure-skip-tls-verify: true}}]
users: [{name: nobody, user: {token: none}}]
contexts: [{name: nobody, context: {cluster: nobody, user: nobody}}]
"""
JOB: Final = "examples/01-ddp/job.yaml"
SCRIPT: Final = "examples/01-ddp/train.py"
COMMANDS: Final = (
    "--help",
    "list --help",
    "list",
    f"submit {SCRIPT} --image x --dry-run",
    f"submit {JOB} --dry-run",
    f"explain {JOB}",
    "convert tests/convert/inputs/pytorchjob.yaml",
    "doctor",
)


def seconds(command: str, environment: dict[str, str]) -> float:
    """The best of several starts."""
    words = [str(Path(sys.executable).with_name("trainingjob")), *command.split()]
    took = []
    for _ in range(RUNS):
        began = time.monotonic()
        subprocess.run(words, env=environment, capture_output=True, check=False)
        took.append(time.monotonic() - began)
    return min(took)


def main() -> int:
    """Measure all, as they are after the first start; 1 where one is slower than it should be."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "kubeconfig"
        config.write_text(KUBECONFIG)
        kept = {"PYTHONPYCACHEPREFIX": f"{folder}/compiled", "KUBECONFIG": str(config)}
        environment = {**os.environ, **kept}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        found = {command: seconds(command, environment) for command in COMMANDS}
    for command, took in found.items():
        print(f"{took:.2f} s  trainingjob {command}")
    return int(max(found.values()) > TARGET)


if __name__ == "__main__":
    sys.exit(main())
