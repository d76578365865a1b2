"""`make tour` plays docs/tour.md on the local cluster and writes down what was said, and how fast.

Nothing in it is made up: each command is run as it stands there, in a namespace of its own.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from localcluster import binaries, choose, deploy, progress
from website.steps import INTRO, PYTHON, STEPS, Step

PAGE: Final = Path("docs/tour.md")
NAMESPACE: Final = "tour"
PATIENCE: Final = 400
TIMES: Final = "## Times"
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
_TOKEN: Final = re.compile(r"token=[^&\s]+")
_OURS: Final = re.compile(r"(?:kubectl tj|trainingjob) ([a-z-]+)")


@dataclass(frozen=True, slots=True)
class Played:
    """A step, what was said, and how long it took."""

    step: Step
    said: str
    seconds: float
    code: int

    def shown(self) -> str:
        """The step as the page shows it."""
        lines = (line.rstrip() for line in _COLOUR.sub("", self.said).splitlines())
        told = _TOKEN.sub("token=…", "\n".join(lines).strip("\n"))
        code = f", exit code {self.code}" if self.code else ""
        block = "\n".join(filter(None, ["```console", f"$ {self.step.command}", told, "```"]))
        return f"{self.step.says}\n\n{block}\n\n*{self.seconds:.1f} s{code}*\n"


def play(step: Step, folder: Path) -> Played:
    """Run it, and then wait for what the next one needs.

    Raises:
        RuntimeError: when what it waits for does not come.
    """
    began = time.monotonic()
    at = folder / step.folder
    said, code = _interrupted(step, at) if step.until else _ended(_run(step.command, at))
    took = time.monotonic() - began
    if step.after and (waited := _run(step.after, folder)).returncode:
        raise RuntimeError(f"{step.after}: {waited.stdout}")
    return Played(step, said, took, code)


def times(all_played: Sequence[Played]) -> str:
    """How long each of our commands took, the quickest first; those that wait say so above."""
    found = [(_OURS.match(it.step.command), it.seconds) for it in all_played]
    rows = sorted((took, match[1]) for match, took in found if match)
    lines = "\n".join(f"| `{name}` | {took:.1f} |" for took, name in rows)
    return (
        f"{TIMES}\n\nOf each call above, with the start of the program. `submit`, `retry`, `wait`, "
        "`doctor --try` and `run-local` last as long as the job that they follow.\n\n"
        f"| command | seconds |\n|---|--:|\n{lines}\n"
    )


def _ended(done: subprocess.CompletedProcess[str]) -> tuple[str, int]:
    return done.stdout, done.returncode


def _interrupted(step: Step, folder: Path) -> tuple[str, int]:
    """What it has said until it was ready; its exit code is that of Ctrl-C."""
    with subprocess.Popen(
        shlex.split(step.command),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        lines = list[str]()
        for line in process.stdout or ():
            lines.append(line)
            if step.until in line:
                break
        process.send_signal(signal.SIGINT)
    return "".join(lines), 0 if lines and step.until in lines[-1] else process.returncode


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
    """An environment of our own for the command line, kubectl and helm, a place for models.

    Raises:
        RuntimeError: when there is nothing to train with on this machine.
    """
    if _run(f"{PYTHON} -c 'import torch, sklearn'", home).returncode:
        raise RuntimeError("torch is needed: sudo apt-get install python3-torch python3-sklearn")
    programs = binaries.ensure(["kubectl", "helm"])
    venv.create(home / "venv", with_pip=True)
    own = home / "kubeconfig"
    own.touch(mode=0o600)
    own.write_text(Path(os.environ["KUBECONFIG"]).read_text())
    os.environ["KUBECONFIG"] = str(own)
    os.environ["OUTPUT"] = str(home / "model.pt")  # else it is left in the checkout
    os.environ["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
    paths = home / "venv" / "bin", programs, os.environ["PATH"]
    os.environ["PATH"] = os.pathsep.join(map(str, paths))


def _begin_with_nothing() -> None:
    """Take the operator away; its image stays on the nodes.

    Raises:
        RuntimeError: on a cluster that is not the project's own.
    """
    if choose.standing().kind == "current":
        raise RuntimeError("the tour takes the operator away: it is for the local cluster alone")
    os.environ["TAG"] = deploy.load_images()["operator"].rpartition(":")[2]
    deploy.uninstall()


def main() -> int:
    """Play all of it, and write the page."""
    folder = PAGE.with_suffix("").absolute()
    with tempfile.TemporaryDirectory() as home:
        _begin_with_nothing()
        _equip(Path(home))
        _enter(folder)
        played = list[Played]()
        for step in STEPS:
            progress.say(f"$ {step.command}")
            played.append(play(step, folder))
        parts = [INTRO, *(it.shown() for it in played), times(played)]
        PAGE.write_text("\n".join(parts), encoding="utf-8")
        _run(f"kubectl delete namespace {NAMESPACE}", folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
