"""The examples train rightly: judged by what each rank reports, not by exit codes.

Wrong sharding, missing gradients' averages and torn saves all end with exit code 0 and a
model. So the samples are counted, the replicas compared bit by bit, and the losses held
against those of one process that had all data to itself.
"""

from collections.abc import Callable

import pytest

from e2e import lessons
from e2e.harness import Namespace
from e2e.lessons import Report

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]


@pytest.mark.parametrize(
    ("folder", "ranks"),
    [
        pytest.param(folder, ranks, marks=pytest.mark.example(folder))
        for folder, ranks in (("01-ddp", 3), ("02-spawn", 4), ("03-torchrun", 4))
    ],
)
def test_the_result_is_that_of_one_process(
    lab: Namespace,
    alone: Report,
    folder: str,
    ranks: int,
    record_property: Callable[[str, object], None],
) -> None:
    reports = lessons.trained(lab, lessons.example(folder))
    lessons.check_ranks(reports, ranks)
    lessons.check_samples(reports)
    digest = lessons.check_replicas(reports)
    saved = [report["saved_sha256"] for report in reports]
    assert saved == [digest, *[None] * (ranks - 1)], "one rank saves what all are"
    assert min(report["accuracy"] for report in reports) >= 0.93
    record_property("checked", lessons.check_losses(reports, alone))
