"""The examples of MPI compute rightly: torch over MPI as one process would, mpi4py known sums."""

from collections.abc import Callable

import pytest

from e2e import images, lessons
from e2e.harness import Manifest, Namespace
from e2e.lessons import Report

pytestmark = pytest.mark.timeout(900)

RANKS = 6


def staying(folder: str) -> Manifest:
    """An example's job whose pods stay: its ranks are all told of in the master's log."""
    job = lessons.example(folder)
    job["spec"]["cleanPodPolicy"] = "None"
    return job


@pytest.mark.e2e
@pytest.mark.example("14-mpi")
def test_torch_over_mpi_trains_as_one_process_does(
    lab: Namespace, alone: Report, record_property: Callable[[str, object], None]
) -> None:
    reports = lessons.trained(lab, staying("14-mpi"))
    lessons.check_ranks(reports, RANKS)
    lessons.check_samples(reports)
    digest = lessons.check_replicas(reports)
    assert [report["saved_sha256"] for report in reports] == [digest, *[None] * (RANKS - 1)]
    assert min(report["accuracy"] for report in reports) >= 0.93
    record_property("checked", lessons.check_losses(reports, alone))


@pytest.mark.example("15-mpi4py")
def test_six_ranks_of_mpi4py_add_up_and_fit_one_line(
    lab: Namespace, record_property: Callable[[str, object], None]
) -> None:
    images.load("mpi")
    reports = lessons.trained(lab, staying("15-mpi4py"))
    lessons.check_ranks(reports, RANKS)
    hosts = [f"mpi4py-{pod}" for pod in ("master", "worker-0", "worker-1") for _ in range(2)]
    assert [report["host"] for report in reports] == hosts
    (found,) = {(report["sum"], report["slope"], report["start"]) for report in reports}
    assert found == (15, 3.0, -2.0)
    record_property("checked", "sum 15, slope 3, start -2 on 6 ranks")
