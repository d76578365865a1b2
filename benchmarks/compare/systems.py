"""What is compared, and how each is started: as its users get it, and with its limits raised.

Each runs as one process beside the API server, without leader election, as its own user. Only
one system runs at a time.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

from benchmarks.compare import kinds, peers
from benchmarks.compare.kinds import Kind
from benchmarks.compare.stand import Stand, answers, environment, ports, until
from benchmarks.compare.usage import Usage

JOBS: Final = ("job-controller",)
COLLECTS: Final = (*JOBS, "garbage-collector-controller")
"""Where pods have to go with what owns them."""


@dataclass(frozen=True, slots=True)
class Running:
    """The processes of a system; the first is the operator's."""

    processes: dict[str, subprocess.Popen[bytes]]

    def usages(self) -> dict[str, Usage]:
        """What each costs, by the name of its user."""
        return {user: Usage(process.pid) for user, process in self.processes.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """One way to run jobs."""

    name: str
    kind: Kind
    start: Callable[[Stand, Sequence[str]], AbstractContextManager[Running]]
    """On a stand, with these controllers of Kubernetes where it leans on any."""
    raw: bool = False
    """It makes pods and nothing else, and knows no jobs."""
    raised: bool = False
    """With limits that its users would have to raise."""


@contextmanager
def _ours(stand: Stand, _: Sequence[str]) -> Iterator[Running]:
    """With the roll call on, as the chart has it."""
    probes, reports = ports(2)
    command = [sys.executable, "-m", "trainingjobs", "run", "--port", str(probes)]
    env = {
        **environment(),
        "KUBECONFIG": str(stand.kubeconfig("ours")),
        "TRAININGJOBS_REPORT_PORT": str(reports),
        "TRAININGJOBS_REPORT_URL": f"http://127.0.0.1:{reports}/api/v1/reports",
    }
    env["PYTHONPATH"] = os.pathsep.join([_absent(stand), env["PYTHONPATH"]])
    with stand.process("ours", command, env) as process:
        until(lambda: answers(probes), "the operator", process)
        yield Running({"ours": process})


def _absent(stand: Stand) -> str:
    """Hides what the tests have and the image has not: kopf loads it where it can."""
    folder = stand.folder / "absent"
    folder.mkdir(exist_ok=True)
    (folder / "kubernetes.py").write_text("raise ImportError")
    return str(folder)


@contextmanager
def _raw(stand: Stand, _: Sequence[str]) -> Iterator[Running]:
    command = [sys.executable, "-m", "benchmarks.compare.raw", stand.server.url]
    command += [str(stand.server.ca), str(stand.raw)]
    with stand.process("raw", command, environment()) as process:
        until(stand.raw.exists, "the raw floor", process)
        yield Running({"raw": process})
    stand.raw.unlink()


@contextmanager
def _jobset(stand: Stand, controllers: Sequence[str], qps: int = 0) -> Iterator[Running]:
    with (
        peers.controller_manager(stand, controllers, qps) as manager,
        peers.jobset(stand, qps) as process,
    ):
        yield Running({"jobset": process, "kube-controller-manager": manager})


@contextmanager
def _training_operator(stand: Stand, _: Sequence[str], threads: int = 1) -> Iterator[Running]:
    with peers.training_operator(stand, threads) as process:
        yield Running({"training-operator": process})


SYSTEMS: Final = (
    System(name="raw", kind=kinds.TRAINING_JOB, start=_raw, raw=True),
    System(name="ours", kind=kinds.TRAINING_JOB, start=_ours),
    System(name="jobset", kind=kinds.JOBSET, start=_jobset),
    System(
        name="jobset-raised",
        kind=kinds.JOBSET,
        start=partial(_jobset, qps=1000),
        raised=True,
    ),
    System(name="training-operator", kind=kinds.PYTORCH_JOB, start=_training_operator),
    System(
        name="training-operator-raised",
        kind=kinds.PYTORCH_JOB,
        start=partial(_training_operator, threads=10),
        raised=True,
    ),
)
BY_NAME: Final = {it.name: it for it in SYSTEMS}
