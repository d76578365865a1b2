"""`make tour` plays docs/tour.md on the local cluster and writes down what was said, and how fast.

Nothing in it is made up: each command is run as it stands there, in a namespace of its own.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from localcluster import binaries, progress

PAGE: Final = Path("docs/tour.md")
NAMESPACE: Final = "tour"
IMAGE: Final = "localhost/trainingjob-trainer:dev"
PATIENCE: Final = 400
PYTHON: Final = "/usr/bin/python3"
ROOT: Final = "../.."
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
_SEND: Final = f"kubectl tj submit train.py -n 3 --user 1000 --image {IMAGE}"


@dataclass(frozen=True, slots=True)
class Step:
    """One command, and what a reader should know before it; what only the recorder needs."""

    says: str
    command: str
    after: str = ""
    """Waits until there is something to see; not shown."""
    folder: str = ""
    """Where it is run, seen from the tour's own folder."""


INTRO: Final = """# A tour: from nothing to a finished job, and two jobs that went wrong

Played by `make tour` on the local cluster, two cores for everything, and written down as it was
said, with the seconds that each command took. The script is [tour/train.py](tour/train.py): 40
lines of plain `torch.distributed`, and nothing in it knows of us.
"""
STEPS: Final = (
    Step(
        "## From nothing to a finished job\n\nIs all there that a job needs?", "kubectl tj doctor"
    ),
    Step(
        "Three ranks of a script, without an image of its own. Their lines follow:",
        f"{_SEND} --name train",
    ),
    Step("And what became of it:", "kubectl tj describe train"),
    Step(
        "## A worker is killed\n\nThe same again, in the background, and longer:",
        f"{_SEND} --name killed --env STEPS=300 --no-wait",
        "kubectl tj wait killed --for Running -q && sleep 6",
    ),
    Step(
        "Somebody takes a pod away:", "kubectl delete pod killed-worker-1 --wait=false", "sleep 2"
    ),
    Step("What happened? One command:", "kubectl tj why killed"),
    Step("It goes on by itself, as a whole group:", "kubectl tj wait killed"),
    Step("Both attempts, and what they cost:", "kubectl tj describe killed"),
    Step(
        "## A rank hangs\n\nNo process ends, no error is printed, and the logs just stop:",
        f"{_SEND} --name hangs --env HANG_RANK=2 --no-wait",
    ),
    Step(
        "A stall is five minutes without a step, if nobody says otherwise; here 20 seconds do:",
        'kubectl patch trainingjob hangs --type merge -p \'{"spec":{"stallTimeoutSeconds":20}}\'',
    ),
    Step(
        "Until the operator says so:",
        "kubectl wait trainingjob/hangs --for=condition=Stalled --timeout=300s",
    ),
    Step("Which rank, and at which line? One command:", "kubectl tj why hangs"),
    Step("And where all of them stand, as they reported last:", "kubectl tj stacks hangs"),
    Step("It is not ours to guess whether the disk comes back:", "kubectl tj cancel hangs"),
    Step(
        "## Without a cluster\n\nThe first example in three processes of this machine, with the "
        "environment of their pods, in the project's own folder:",
        f"trainingjob run-local -n 3 --python {PYTHON} examples/01-ddp/train.py",
        folder=ROOT,
    ),
    Step(
        "The second starts its processes itself, two in each of two instances:",
        "trainingjob run-local -n 2 --processes 2 --no-torchrun "
        f"--python {PYTHON} examples/02-spawn/train.py",
        folder=ROOT,
    ),
)


def play(step: Step, folder: Path) -> str:
    """The step as the page shows it.

    Raises:
        RuntimeError: when what it waits for does not come.
    """
    began = time.monotonic()
    said = _run(step.command, folder / step.folder)
    took = time.monotonic() - began
    if step.after and (waited := _run(step.after, folder)).returncode:
        raise RuntimeError(f"{step.after}: {waited.stdout}")
    lines = (line.rstrip() for line in _COLOUR.sub("", said.stdout).splitlines())
    told = "\n".join(lines).strip("\n")
    code = f", exit code {said.returncode}" if said.returncode else ""
    return f"{step.says}\n\n```console\n$ {step.command}\n{told}\n```\n\n*{took:.1f} s{code}*\n"


def _run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def _enter(folder: Path) -> None:
    """An empty namespace as strict as any, and kubectl at home in it."""
    level = "pod-security.kubernetes.io/enforce=restricted"
    for command in (
        f"kubectl delete namespace {NAMESPACE} --ignore-not-found",
        f"kubectl create namespace {NAMESPACE}",
        f"kubectl label namespace {NAMESPACE} {level}",
        f"kubectl config set-context --current --namespace={NAMESPACE}",
    ):
        if (done := _run(command, folder)).returncode:
            raise RuntimeError(f"{command}: {done.stdout}")


def _equip(home: Path) -> None:
    """Our own programs and kubectl first, a kubeconfig that may be changed, a place for models.

    Raises:
        RuntimeError: when there is nothing to train with on this machine.
    """
    if _run(f"{PYTHON} -c 'import torch, sklearn'", home).returncode:
        raise RuntimeError("torch is needed: sudo apt-get install python3-torch python3-sklearn")
    kubectl = binaries.ensure(["kubectl"])
    ours = Path(sys.executable).parent
    own = home / "kubeconfig"
    own.touch(mode=0o600)
    own.write_text(Path(os.environ["KUBECONFIG"]).read_text())
    os.environ["KUBECONFIG"] = str(own)
    os.environ["OUTPUT"] = str(home / "model.pt")  # else it is left in the checkout
    os.environ["PATH"] = os.pathsep.join(map(str, (ours, kubectl, os.environ["PATH"])))


def main() -> int:
    """Play all of it, and write the page."""
    folder = PAGE.with_suffix("").absolute()
    with tempfile.TemporaryDirectory() as home:
        _equip(Path(home))
        _enter(folder)
        parts = [INTRO]
        for step in STEPS:
            progress.say(f"$ {step.command}")
            parts.append(play(step, folder))
        PAGE.write_text("\n".join(parts), encoding="utf-8")
        _run(f"kubectl delete namespace {NAMESPACE}", folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
