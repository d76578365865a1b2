"""More ways to train with torch, and without: judged by the numbers that the ranks report."""

import re
from collections.abc import Callable

import pytest

from e2e import lessons, volumes
from e2e.harness import Cluster, Namespace
from e2e.lessons import Report

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

Record = Callable[[str, object], None]

FALL = """
import os, pathlib
for process in pathlib.Path("/proc").glob("[0-9]*"):
    words = (process / "cmdline").read_bytes().split(b"\\0")
    if os.stat(process).st_uid == os.getuid() and process.name not in ("1", str(os.getpid())):
        if any(word.endswith(b"train.py") for word in words):
            os.kill(int(process.name), 9)
            print("killed", process.name)
"""
"""Kills what torchrun has started in a pod, and leaves torchrun itself."""


@pytest.mark.example("05-fsdp")
def test_fully_sharded(lab: Namespace, alone: Report, record_property: Record) -> None:
    reports = lessons.trained(lab, lessons.example("05-fsdp"))
    lessons.check_ranks(reports, 3)
    lessons.check_samples(reports)
    for part in ("parameters_held", "momentum_held"):
        held = [report[part] for report in reports]
        assert sum(held) == reports[0]["parameters"], "every number lies on one rank"
        # layers are cut by rows, and 64 rows do not divide by three
        assert max(held) <= 0.36 * sum(held)
    assert reports[0]["saved_accuracy"] >= 0.93
    record_property("checked", f"{lessons.check_losses(reports, alone)}; a third on each rank")


@pytest.mark.example("06-pipeline")
def test_a_pipeline(lab: Namespace, alone: Report, record_property: Record) -> None:
    reports = lessons.trained(lab, lessons.example("06-pipeline"))
    lessons.check_ranks(reports, 2)
    assert [report["parameters_held"] for report in reports] == [64 * 64 + 64, 64 * 10 + 10]
    assert reports[0]["losses"] is None, "only the last stage can know it"
    assert reports[0]["saved_accuracy"] >= 0.93
    record_property("checked", f"{lessons.check_losses(reports, alone)}; a stage on each rank")


@pytest.mark.example("07-parameter-server")
def test_a_parameter_server(lab: Namespace, alone: Report, record_property: Record) -> None:
    reports = lessons.trained(lab, lessons.example("07-parameter-server"))
    lessons.check_ranks(reports, 3)
    lessons.check_samples(reports[1:])
    lessons.check_replicas(reports)
    assert reports[0]["steps"] == 180
    assert reports[0]["accuracy"] >= 0.93
    record_property("checked", f"{lessons.check_losses(reports, alone)}; two workers")


@pytest.mark.example("08-torchrun-elastic")
def test_torchrun_makes_the_group_anew(
    cluster: Cluster, lab: Namespace, alone: Report, record_property: Record
) -> None:
    epochs, steps, every = 6, 72, 5
    with volumes.checkpoint(cluster, lab) as file:
        place = f"/checkpoints/{file}"
        job = lessons.example(
            "08-torchrun-elastic", CHECKPOINT=place, EPOCHS=str(epochs), PAUSE="0.4"
        )
        with lessons.Watched(lab, job):
            lab.wait_for_line("torchrun-elastic-master", "step 23 done")
            killed = lab.kubectl("exec", "torchrun-elastic-worker-1", "--", "python", "-c", FALL)
            assert killed.count("killed") == 1
            reports = lessons.finished(lab, job)
    status = lab.status("torchrun-elastic")
    assert (status["attempt"], status["restarts"]) == (1, 0), "torchrun's affair, and no one else's"
    lessons.check_ranks(reports, 3)
    lessons.check_replicas(reports)
    # an agent counts its own processes' failures, and not that others wait for it to meet
    assert 1 <= max(report["restarts"] for report in reports) <= 3
    done = re.findall(r"step (\d+) done", lab.kubectl("logs", "torchrun-elastic-master"))
    assert set(map(int, done)) == set(range(steps))
    lost = len(done) - steps
    # a step is said once it is done, and may have been under way when its rank fell
    assert 0 <= lost <= every
    (first,) = {report["first"] for report in reports}
    assert first % every == 0
    assert first >= 20
    said = lessons.check_losses(reports, alone, epochs=epochs)
    record_property("checked", f"{said}; {lost} steps lost")


@pytest.mark.example("09-any-program")
def test_any_program(lab: Namespace, record_property: Record) -> None:
    job = lessons.example("09-any-program")
    reports = lessons.trained(lab, job)
    lessons.check_ranks(reports, 3)
    job["metadata"]["name"] = "one"
    job["spec"]["PARALLEL_INSTANCES"] = 1
    (one,) = lessons.trained(lab, job)
    assert sum(report["samples"] for report in reports) == one["samples"] == 1797
    for report in reports:
        assert report["moves"] == one["moves"]
        assert report["right"] == one["right"] >= 1400
    record_property("checked", f"{one['right']} of 1797 digits in their cluster, as of one process")
