"""Processes as they run in a pod: the reporter mounted beside them, the environment of a rank."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

PYTHON = str(Path(sys.executable).resolve())
"""Not the one of the virtual environment, on whose path the reporter lies anyway."""
SOURCE = Path(__file__).parents[2] / "operator"


def mount(folder: Path) -> Path:
    """The files of the reporter, as the pod has them."""
    code, python = folder / "code", shutil.ignore_patterns("__pycache__")
    shutil.copytree(SOURCE / "_trainingjob", code / "_trainingjob", ignore=python)
    shutil.copytree(SOURCE / "trainingjob", folder / "public" / "trainingjob", ignore=python)
    (code / "_trainingjob" / "_sitecustomize.py").rename(code / "sitecustomize.py")
    return code


@dataclass
class Pod:
    """One folder of scripts, and the processes that run there."""

    folder: Path
    url: str = ""
    python: Sequence[str] = (PYTHON,)
    running: list[subprocess.Popen[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.code = mount(self.folder)
        self.work = self.folder / "work"
        self.work.mkdir()
        (self.folder / "token").write_text("a-token")

    def script(self, text: str, name: str = "train.py") -> Path:
        """A file that the processes find where they run."""
        path = self.work / name
        path.write_text(textwrap.dedent(text).lstrip("\n"))
        return path

    def environment(self, **extra: str) -> dict[str, str]:
        """Nothing of this machine's but what programs need."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "PYTHONPATH": str(self.code),
            "PYTHONDONTWRITEBYTECODE": "1",
            "OMP_NUM_THREADS": "1",
            "GLOO_SOCKET_IFNAME": "lo",
            "TRAININGJOB_REPORT_URL": self.url,
            "TRAININGJOB_TOKEN_FILE": str(self.folder / "token"),
        } | {name: value for name, value in extra.items() if value}

    def start(self, *arguments: str, **extra: str) -> subprocess.Popen[str]:
        """Run Python with these arguments, in the folder of the scripts."""
        process = subprocess.Popen(
            [*self.python, *(arguments or ("train.py",))],
            cwd=self.work,
            env=self.environment(**extra),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.running.append(process)
        return process

    def group(self, text: str, world: int = 2, **extra: str) -> list[subprocess.Popen[str]]:
        """One process for each rank, with all that a rank's environment has."""
        self.script(text)
        common = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), **extra}
        return [
            self.start(RANK=str(rank), WORLD_SIZE=str(world), LOCAL_RANK="0", **common)
            for rank in range(world)
        ]

    def close(self) -> None:
        """End all that runs."""
        for process in self.running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def end(process: subprocess.Popen[str], patience: float = 280) -> tuple[int, str, str]:
    """The code, the output and the errors of a process that ends."""
    out, err = process.communicate(timeout=patience)
    return process.returncode, out, err


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def pod(folder: Path, url: str, python: Sequence[str] = (PYTHON,)) -> Iterator[Pod]:
    made = Pod(folder, url, python)
    try:
        yield made
    finally:
        made.close()
