"""What `make bench` makes of its figures: medians, ratios, targets, a page and a plot."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from benchmarks.compare import page, plot, targets
from benchmarks.compare.audit import Audit
from benchmarks.compare.medians import Medians, read
from benchmarks.compare.results import File, Measure, code

ABOUT = {
    "when": "2026-01-01",
    "cores": 2,
    "python": "3.11",
    "load before": 0.1,
    "versions": {"etcd": "3"},
}


def results(folder: Path, measures: Sequence[dict[str, Any]]) -> Medians:
    lines = [ABOUT, *({"run": 1, "requests": {}, "error": "", **it} for it in measures)]
    file = folder / "results.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)) + "\n")
    return read(file)


def took(system: str, seconds: float | None, run: int = 1, scenario: str = "1x500") -> Any:
    figures = {"all pods": seconds}
    return {"scenario": scenario, "system": system, "run": run, "figures": figures}


def test_the_middle_of_the_runs_counts(tmp_path: Path) -> None:
    found = results(tmp_path, [took("ours", it, n) for n, it in enumerate((9.0, 1.0, 2.0), 1)])
    assert found.of("1x500", "ours", "all pods") == 2
    assert found.runs == {("1x500", "ours"): 3}
    assert "2.00 (1.00 to 9.00)" in page.render(found)


def test_a_run_that_never_came_to_it_is_the_slowest(tmp_path: Path) -> None:
    found = results(tmp_path, [took("jobset", it, n) for n, it in enumerate((5.0, None, None), 1)])
    assert "| never |" in page.render(found)


def test_a_failed_run_is_named_and_not_counted(tmp_path: Path) -> None:
    failed = {**took("ours", None, 2), "figures": {}, "error": "RuntimeError: no"}
    found = results(tmp_path, [took("ours", 3.0), failed])
    assert found.of("1x500", "ours", "all pods") == 3
    assert "Failed runs: 1x500, ours." in page.render(found)


def test_ratios_are_to_the_floor_and_to_the_best_peer(tmp_path: Path) -> None:
    times = {"raw": 2.0, "ours": 2.5, "jobset": 25.0, "training-operator": 50.0}
    found = results(tmp_path, [took(*it) for it in times.items()])
    row = next(it for it in page.render(found).splitlines() if it.startswith("| 1 x 500"))
    assert row.endswith("| 1.25 | 10.00 |")


@pytest.mark.parametrize(("ours", "met"), [(2.5, "yes"), (2.7, "no")])
def test_a_target_is_met_or_not(tmp_path: Path, ours: float, met: str) -> None:
    found = results(tmp_path, [took("raw", 2.0), took("ours", ours)])
    assert targets.TARGETS[0].row(found).endswith(f"| {met} |")


def test_a_target_without_a_figure_is_not_met(tmp_path: Path) -> None:
    found = results(tmp_path, [took("raw", 2.0)])
    assert targets.TARGETS[0].row(found).endswith("| not measured | |")


def test_a_part_of_the_jobs_meets_no_target_about_all_of_them(tmp_path: Path) -> None:
    finished = {**took("ours", None, 1, "finished"), "figures": {"writes a minute": 0.0}}
    found = results(tmp_path, [finished])
    assert targets.TARGETS[2].row(found).endswith("| yes |")
    found.about["scale"] = "0.1"
    assert targets.TARGETS[2].row(found).endswith("| not measured | |")


def test_only_what_is_between_the_marks_is_written_anew(tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_text(f"before\n{page.BEGIN}\nold\n{page.END}\nafter\n")
    page.write("new", file)
    assert file.read_text() == f"before\n{page.BEGIN}\nnew\n{page.END}\nafter\n"


def test_the_plot_has_a_line_for_each_system(tmp_path: Path) -> None:
    times = [took(system, 2.0, 1, f"1x{n}") for system in ("raw", "ours") for n in (8, 100)]
    picture = ET.fromstring(plot.draw(results(tmp_path, times)))  # noqa: S314 - our own
    lines = picture.findall("{http://www.w3.org/2000/svg}polyline")
    assert [len(it.attrib["points"].split()) for it in lines] == [2, 2]


def entry(user: str, verb: str, resource: str, **more: Any) -> str:
    whole = {"stage": "ResponseComplete", "verb": verb, "requestURI": "/", **more}
    whole |= {"user": {"username": user}, "objectRef": {"resource": resource}}
    return json.dumps(whole) + "\n"


def test_requests_are_counted_by_who_asked_for_what(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    log.write_text(entry("ours", "create", "pods") * 2 + entry("ours", "watch", "pods"))
    audit = Audit(log)
    audit.forget()
    with log.open("a") as more:
        more.write(entry("ours", "create", "pods") + entry("kwok", "patch", "pods"))
        more.write(entry("ours", "create", "pods", requestURI="/?dryRun=All"))
        more.write(entry("ours", "list", "pods", stage="RequestReceived"))
        more.write(entry("ours", "get", "pods")[:9])  # the rest comes later
    audit.read()
    assert audit.of(["ours"]) == {"create pods": 1, "dry-run-create pods": 1}
    assert audit.writes(["ours", "kwok"]) == 2


def test_a_cut_run_goes_on_and_what_failed_is_measured_again(tmp_path: Path) -> None:
    path = tmp_path / "latest.jsonl"
    file = File(path)
    figures = {"all pods": 1.0}
    file.add(Measure(scenario="1x8", system="ours", run=1, code=code("ours"), figures=figures))
    file.add(Measure(scenario="1x8", system="ours", run=2, code="of last week", figures=figures))
    file.add(Measure(scenario="1x8", system="jobset", run=1, figures=figures))
    file.add(Measure(scenario="1x8", system="jobset", run=2, error="gone"))
    again = File(path)
    assert again.has("1x8", "ours", 1)
    assert not again.has("1x8", "ours", 2)
    assert again.has("1x8", "jobset", 1)
    assert not again.has("1x8", "jobset", 2)
    again.add(Measure(scenario="1x8", system="jobset", run=2, figures={"all pods": 0.5}))
    found = read(path)
    assert found.failed == ()
    assert found.of("1x8", "jobset", "all pods") == 0.75
    assert found.runs == {("1x8", "ours"): 2, ("1x8", "jobset"): 2}
    assert set(found.codes) == {code("ours"), "of last week"}
    assert "in several states: " in page.render(found)
    again.add(Measure(scenario="1x8", system="ours", run=2, code=code("ours"), figures=figures))
    assert set(read(path).codes) == {code("ours")}


def test_a_figure_that_a_run_did_not_come_to_is_the_slowest(tmp_path: Path) -> None:
    cut = {**took("ours", 2.0, run=2), "figures": {}}
    found = results(tmp_path, [took("ours", 1.0), cut, {**cut, "run": 3}])
    assert found.of("1x500", "ours", "all pods") == math.inf


def test_a_log_that_is_begun_anew_is_an_error(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    log.write_text("{}\n" * 9)
    audit = Audit(log)
    audit._from = 99  # noqa: SLF001 - what was read before
    with pytest.raises(RuntimeError, match="begun anew"):
        audit.read()


def test_runs_of_two_versions_are_not_told_together(tmp_path: Path) -> None:
    path = tmp_path / "latest.jsonl"
    File(path)
    other = {**json.loads(path.read_text()), "versions": {"etcd": "2"}}
    path.write_text(json.dumps(other) + "\n")
    with pytest.raises(ValueError, match="move it away"):
        File(path)
