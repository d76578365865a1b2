"""The chart goes up, back, away and comes again, and a job that runs meanwhile notices nothing.

Where it comes from is an earlier commit: its own chart, definition and image. By default that is
the last one whose operator knew no Lease, so that the two ways of running meet as well.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e import harness, jobs
from localcluster import deploy, shell

pytestmark = [pytest.mark.upgrade, pytest.mark.timeout(1500)]

FROM = os.environ.get("UPGRADE_FROM") or "6c97f8c"
CRD = "trainingjobs.trainingjob.dev"
STEPS = 420
_LATER = ("--wait", "--timeout", "180s", "--namespace", deploy.NAMESPACE)


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A checkout of the earlier commit."""
    folder = tmp_path_factory.mktemp("before") / "checkout"
    _git("worktree", "add", "--detach", str(folder), FROM)
    (folder / ".venv").symlink_to(shell.ROOT / ".venv")
    yield folder
    _git("worktree", "remove", "--force", str(folder))


@pytest.fixture
def lab() -> Iterator[harness.Namespace]:
    """A namespace, on a cluster whose operator is put back in the end."""
    cluster = harness.find()
    namespace = cluster.new_namespace("upgrade")
    yield namespace
    deploy.install()
    cluster.kubectl("delete", "namespace", namespace.name, "--wait=false")


class Watched:
    """A job that runs, and what must not change of it."""

    def __init__(self, lab: harness.Namespace, name: str) -> None:
        self.lab = lab
        self.name = name
        lab.apply(jobs.a_job(name, 3, jobs.a_template(STEPS=str(STEPS))))
        lab.wait_for_phase(name, "Running")
        lab.wait_for_line(f"{name}-master", "step 2")
        self.first = self.pods()

    def pods(self) -> dict[str, tuple[str, int]]:
        """The uid and the restarts of each pod."""
        return {
            name: (pod["metadata"]["uid"], sum(map(_restarts, pod["status"]["containerStatuses"])))
            for name, pod in self.lab.objects("pods", self.name).items()
        }

    def steps(self) -> int:
        """How far it is, by its own log."""
        log = self.lab.kubectl("logs", f"{self.name}-master", "--tail=1")
        return int(log.split()[-1])

    def check(self) -> None:
        """It trains on, in the same pods, and its status says so."""
        assert self.pods() == self.first
        status = self.lab.status(self.name)
        counters = [status[it] for it in ("phase", "attempt", "restarts", "disruptions")]
        assert counters == ["Running", 1, 0, 0]
        far = self.steps()
        time.sleep(3)
        assert self.steps() > far


def test_jobs_run_through_upgrade_rollback_and_uninstall(
    before: Path, lab: harness.Namespace
) -> None:
    _timed("uninstall what was there", _uninstall)
    old, new = _image(before), _image(shell.ROOT)
    _timed("install the earlier one", lambda: _helm(before, old, "upgrade", "--install"))
    first = Watched(lab, "first")

    _timed("upgrade", lambda: _helm(shell.ROOT, new, "upgrade", "--set", "replicaCount=2"))
    assert _fields(_served()) == _fields(_written(shell.ROOT))
    first.check()
    second = Watched(lab, "second")

    _timed("rollback", lambda: shell.call("helm", "rollback", deploy.RELEASE, "1", *_LATER))
    assert _fields(_served()) == _fields(_written(before))
    for job in (first, second):
        job.check()
    third = Watched(lab, "third")

    _timed("upgrade again", lambda: _helm(shell.ROOT, new, "upgrade", "--set", "replicaCount=2"))
    for job in (first, second, third):
        job.check()

    _timed("uninstall", _uninstall)
    assert lab.cluster.kubectl("get", "crd", CRD, "-oname").strip()
    assert not json.loads(_kubectl("get", "deployments", "-n", deploy.NAMESPACE, "-ojson"))["items"]
    for job in (first, second, third):
        job.check()

    _timed("install anew", deploy.install)
    for job in (first, second, third):
        end = lab.wait_for(
            job.name,
            lambda status: status.get("phase") in {"Succeeded", "Failed"},
            seconds=STEPS * 2,
        )
        assert (end["phase"], end["attempt"], end["restarts"]) == ("Succeeded", 1, 0)
        assert job.pods() == job.first


def _helm(checkout: Path, image: str, *how: str) -> None:
    repository, _, tag = image.rpartition(":")
    shell.answer(
        *("helm", *how[:1], deploy.RELEASE, str(checkout / deploy.CHART), *how[1:], *_LATER),
        *("--create-namespace", "--take-ownership"),
        *("--set", f"image.repository={repository}", "--set-string", f"image.tag={tag}"),
    )


def _uninstall() -> None:
    if deploy.RELEASE in shell.answer("helm", "list", "-q", "--namespace", deploy.NAMESPACE):
        deploy.uninstall()


def _image(checkout: Path) -> str:
    """The operator's image of a checkout, built and loaded."""
    argv = [sys.executable, "-m", "localcluster.images", "load", "operator"]
    done = subprocess.run(argv, cwd=checkout, check=True, stdout=subprocess.PIPE, text=True)
    return next(line.split()[1] for line in done.stdout.splitlines() if line.startswith("operator"))


def _timed(what: str, work: Callable[[], object]) -> None:
    started = time.monotonic()
    work()
    print(f"{what}: {time.monotonic() - started:.0f} s", flush=True)  # noqa: T201


def _served() -> Any:
    return json.loads(_kubectl("get", "crd", CRD, "-ojson"))


def _written(checkout: Path) -> Any:
    return yaml.safe_load((checkout / "crds" / "trainingjob.yaml").read_text())


def _fields(definition: Any) -> Any:
    return definition["spec"]["versions"][0]["schema"]


def _restarts(container: Any) -> int:
    return int(container["restartCount"])


def _kubectl(*argv: str) -> str:
    return shell.answer("kubectl", *argv)


def _git(*argv: str) -> None:
    subprocess.run(["git", *argv], cwd=shell.ROOT, check=True, capture_output=True)
