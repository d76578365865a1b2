"""What every rank gets, without a cluster: the operator's own words."""

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from builders import SITE, a_body
from trainingjobs.cli.app import app
from trainingjobs.cli.commands import explained
from trainingjobs.cli.views import explanation
from trainingjobs.handlers.reporter import site
from trainingjobs.model.job import TrainingJob, parse
from trainingjobs.plan import manifests
from trainingjobs.settings import Settings

EXAMPLES = sorted(Path(__file__).parents[2].glob("examples/*/job.yaml"))


def explain(*args: str, text: str | None = None) -> Result:
    return CliRunner().invoke(app, ["explain", *args], input=text, env={"KUBECONFIG": "/absent"})


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
def test_every_example_is_explained(path: Path) -> None:
    shown = explain(str(path))
    assert shown.exit_code == 0, shown.output
    assert "Environment of all ranks:" in shown.output
    assert "Mistakes" not in shown.output


@pytest.mark.parametrize(
    ("told", "url"),
    [
        ([], explained.usual_reports("cluster.local")),
        (["--report-url", ""], ""),
        (["--report-url", "http://a"], "http://a"),
    ],
)
def test_pods_are_the_operators(told: list[str], url: str) -> None:
    body = a_body(3)
    job = parse(body)
    assert isinstance(job, TrainingJob)
    shown = explain("-", "--rank", "1", "-o", "yaml", *told, text=yaml.safe_dump(body))
    service, pod = yaml.safe_load(shown.output)["items"]
    assert service == manifests.service(job)
    assert pod == manifests.pod(job, 1, site(Settings(report_url=url)))


def test_what_differs_stands_apart() -> None:
    job = parse(a_body(2))
    assert isinstance(job, TrainingJob)
    found = dict(explanation.sections(job, SITE, [0, 1]))
    assert "WORLD_SIZE=2" in found["Environment of all ranks"]
    header, *rows = [line.split() for line in found["Environment of each"]]
    assert header[:2] == ["TRAININGJOB_ROLE", "RANK"]
    assert [row[:4] for row in rows] == [["pod", "0", "master", "0"], ["pod", "1", "worker", "1"]]


def test_what_one_pod_has_is_said_to_be_its_own() -> None:
    job = parse(a_body(3))
    assert isinstance(job, TrainingJob)
    found = dict(explanation.sections(job, SITE, [1]))
    assert "RANK=1" in found["Environment of pod 1"]
    assert not found["Environment of each"]


def test_of_many_ranks_the_first_are_shown() -> None:
    job = parse(a_body(1000))
    assert isinstance(job, TrainingJob)
    lines = dict(explanation.sections(job, SITE, range(1000)))["Environment of each"]
    assert len(lines) == explanation.MAX_SHOWN + 2
    assert lines[-1] == "… and 984 more: --rank chooses"


def test_variables_from_elsewhere_are_told_by_their_place() -> None:
    secret = {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}}
    field = {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
    container = {"name": "trainer", "image": "x", "env": [secret, field, {"name": "RANK"}]}
    body = a_body(1, template={"spec": {"containers": [container]}})
    shown = explain("-", text=yaml.safe_dump(body)).output
    assert "TOKEN=<secretKeyRef hub/token>" in shown
    assert "NODE=<fieldRef spec.nodeName>" in shown
    assert "Mistakes:\n  container trainer sets RANK, which makes the group\n" in shown


@pytest.mark.parametrize(
    ("args", "text", "words"),
    [
        (["-"], "kind: Pod", "has 0 TrainingJobs"),
        (["-"], "a: [", "error: -: "),
        (["-"], yaml.safe_dump(a_body(0)), "spec.PARALLEL_INSTANCES"),
        (["-", "--rank", "7"], yaml.safe_dump(a_body(3)), "has the ranks 0 to 2"),
        (["-"], "kind: TrainingJob\nmetadata: {name: 3}", "metadata.name is no text"),
        (["-"], "kind: TrainingJob\nmetadata: {name: [a]}", "metadata.name is no text"),
        (["-"], "kind: TrainingJob\nmetadata: 4", "metadata is no object with fields: 4"),
        (["absent.yaml"], None, "absent.yaml"),
        (["mnist"], None, "/absent"),
    ],
)
def test_what_cannot_be_explained(args: list[str], text: str | None, words: str) -> None:
    shown = explain(*args, text=text)
    assert shown.exit_code == 1
    assert words in shown.output
    assert shown.output.count("\n") == 1


def test_convert_is_the_existing_command(tmp_path: Path) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text("kind: Pod\nmetadata: {name: x}\n")
    shown = CliRunner().invoke(app, ["convert", str(path)])
    assert shown.exit_code == 0
    assert "kind: Pod" in shown.stdout
