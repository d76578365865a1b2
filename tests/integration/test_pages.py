"""What pages tell people to type, as it stands there, beside the operator on a real API server.

One desk serves them all: its kubelet lets pods run for a moment, its operator calls the roll.
What may be typed side by side is, as each start of a program costs more than what it asks.
"""

import json
import re
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from integration import definitions
from integration.jobs import a_job
from integration.kubelet import Kubelet, kubelet
from integration.operators import Operator, eventually, operator
from integration.reader import Reader, at_once
from integration.server import ApiServer
from integration.test_operator import Lab
from pages import blocks, checkout, proof
from trainingjobs.model import labels

pytestmark = pytest.mark.integration

ROOT, DOCS = blocks.ROOT, blocks.ROOT / "docs"
LAB = "lab"
"""The namespace that most pages speak of."""
EXAMPLES = sorted((ROOT / "examples").glob("*/README.md"))
SCRIPT = "import os\nprint('I am rank', os.environ['RANK'])\n"
"""The reader's own train.py: it needs no library."""


@dataclass(frozen=True)
class Desk:
    """The operator, the kubelet and the reader of one namespace."""

    lab: Lab
    node: Kubelet
    reader: Reader

    def have(self, phases: Mapping[str, str], **spec: Any) -> None:
        """There are jobs that have come so far."""
        self.reader.types(
            "kubectl apply -f -", yaml.safe_dump_all(a_job(it, **spec) for it in phases)
        )
        eventually(lambda: phases.items() <= self.phases().items())

    def phases(self) -> dict[str, str]:
        """How far all jobs are."""
        found = json.loads(self.reader.types("kubectl get trainingjobs -o json"))["items"]
        return {job["metadata"]["name"]: job.get("status", {}).get("phase", "") for job in found}

    def clear(self) -> None:
        """No job is left."""
        self.lab.server.kubectl("delete", "trainingjobs", "--all", "-n", LAB)
        self.node.until_empty()
        for names in (self.node.stay, self.node.stay_once, self.node.wait, self.node.codes):
            names.clear()

    def visits(self, line: str) -> str:
        """The page at the address that a line prints, and the address."""
        with self.reader.begins(line) as going:
            assert going.stdout is not None
            address = going.stdout.readline().strip()
            at = urlsplit(address)
            with urllib.request.urlopen(f"http://{at.netloc}/", timeout=20) as answer:
                assert b"ui/main.js" in answer.read()
        return address


@pytest.fixture(scope="module")
def shared(apiserver: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    folder = tmp_path_factory.mktemp("desk")
    with (
        operator(apiserver, LAB, folder, roll_call=True) as served,
        kubelet(apiserver, LAB) as node,
    ):
        lab = Lab(apiserver, served)
        reader = Reader(apiserver, LAB, folder, TRAININGJOB_OPERATOR_NAMESPACE=LAB, BROWSER="true")
        (reader.folder / "train.py").write_text(SCRIPT)
        lab.apply(a_pod_of(served))
        yield Desk(lab, node, reader)
        lab.core.delete_namespaced_pod("operator", LAB, grace_period_seconds=0)
        assert not served.refused()
        assert "Traceback" not in served.log()
    rights = "serviceaccounts,roles,rolebindings"  # another test gives those of the pages anew
    apiserver.kubectl("delete", rights, "--all", "-n", LAB)


@pytest.fixture
def desk(shared: Desk) -> Iterator[Desk]:
    yield shared
    shared.clear()


def a_pod_of(served: Operator) -> dict[str, Any]:
    """The pod that `kubectl tj` looks for: the way to it leads to the operator's own process."""
    own = {labels.APP_PART_OF: labels.COMPONENT_NAME, labels.APP_COMPONENT: "operator"}
    container = {
        "name": "operator",
        "image": "i",
        "env": [{"name": "TRAININGJOBS_NAMESPACES", "value": LAB}],
        "ports": [{"name": "rollcall", "containerPort": served.report_port}],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "operator", "labels": {**own, labels.LEADER: "true"}},
        "spec": {"serviceAccountName": "operator", "containers": [container]},
    }


def test_every_example_is_run_as_its_page_says(desk: Desk) -> None:
    desk.node.stay_once |= {"elastic", "checkpoint"}
    for line in on_several(EXAMPLES):  # two hands that make one thing are one too many
        desk.reader.types(line)
    said = at_once(desk.reader.reads, EXAMPLES)
    for page, lines in zip(EXAMPLES, said, strict=True):
        *_, (wait, met), (log, text) = lines.items()
        assert ("kubectl wait" in wait, "condition met" in met) == (True, True), page
        assert ("kubectl logs" in log, "speaks" in text) == (True, True), page
        desk.reader.has_typed(page)
    assert "attempt: 2" in desk.reader.types("kubectl get trainingjob elastic -o yaml")
    assert [*desk.phases().values()] == ["Succeeded"] * len(EXAMPLES)


def on_several(pages: list[Path]) -> list[str]:
    """Lines that more than one page tells people to type."""
    found = Counter(line for page in pages for line in set(proof.to_type(page)))
    return [line for line, times in found.items() if times > 1]


def test_a_pod_is_deleted_as_the_page_of_checkpoints_says(desk: Desk) -> None:
    desk.node.stay_once.add("checkpoint")
    *_, described = desk.reader.reads(DOCS / "howto/checkpoints.md").values()
    assert "Attempts that are over:" in described
    status = desk.lab.status_of("checkpoint")
    assert (status["attempt"], status["disruptions"], status["phase"]) == (2, 1, "Succeeded")


def test_the_page_of_the_command_line(desk: Desk) -> None:
    desk.node.stay |= {"skip", "hangs"}
    desk.node.wait.add("large")
    desk.node.codes["broken-worker-0"] = 1
    phases = {"broken": "Failed", "large": "Pending", "skip": "Running", "hangs": "Running"}
    desk.have(phases, maxRestarts=0)
    desk.lab.apply(a_job("talk"))
    wait, code = "kubectl tj wait broken --timeout 1h", "echo $?"
    lines = [line for line in proof.to_type(DOCS / "cli.md") if line not in {wait, code}]
    said = desk.reader.reads_at_once(lines)
    assert desk.reader.types(f"{wait}; {code}").startswith("1\n")
    desk.reader.has_typed(DOCS / "cli.md")
    words = {
        "list": "broken",
        "describe broken": "Root cause:\n  rank 1 (broken-worker-0",
        "why large": "large is Pending",
        "why skip": "skip runs",
        "logs -f talk": "[2] talk-worker-1 speaks",
        "--name hello": "hello is Succeeded",
        "doctor --pods 8": "8 pods of nvidia.com/gpu 1 each: 0 have room",
    }
    for part, word in words.items():
        (text,) = [text for line, text in said.items() if part in line]
        assert word in text
    *_, message, listed = desk.reader.reads(ROOT / "README.md").values()
    assert "rank 1" in message
    assert "MESSAGE" in listed


def test_what_other_pages_submit(desk: Desk) -> None:
    desk.reader.fills(IMAGE="my/trainer:1")
    pages = DOCS / "howto/gpu.md", DOCS / "howto/restricted.md"
    lines = [line for page in pages for line in proof.to_type(page)]
    first = re.compile(r"export|kubectl tj submit")
    lines += [line for line in blocks.shown(DOCS / "index.md") if first.match(line)]
    desk.node.stay.add("ddp")
    desk.reader.reads_at_once(lines)
    desk.reader.types("kubectl tj stacks ddp")
    desk.node.stay.remove("ddp")
    desk.reader.types("kubectl tj wait ddp")
    assert [*desk.phases().values()] == ["Succeeded"] * 4


FAULTS = DOCS / "troubleshooting.md"
HALTS = ["kubectl tj suspend JOB", "trainingjob suspend mnist", "trainingjob scale mnist 4"]
GOES_ON = ["kubectl tj resume JOB", "trainingjob resume mnist"]
ONCE_MORE = {
    "kubectl tj retry JOB": "mnist-r2 is Succeeded",
    "trainingjob retry mnist": "mnist-r3 is Succeeded",
    "trainingjob retry mnist --name again --no-wait": "trainingjob.trainingjob.dev/again created",
}
GO = ["trainingjob cancel mnist", "trainingjob cancel vit cifar -n lab"]
AT_THE_END = ["trainingjob logs -f mnist --rank 0,2-3", "trainingjob wait mnist --timeout 2h"]


def test_what_is_told_of_a_job_and_what_changes_it(desk: Desk, tmp_path: Path) -> None:
    """The examples of docs/commands.md, and what is said within the sentences of all pages."""
    reader = desk.reader
    a_job_with_four_pods_runs(desk)
    a_report_is_sent(desk, tmp_path)
    words = {"NAMESPACE": LAB, "IMAGE": "my/trainer:1", "POD": "mnist-master", "JOB": "mnist"}
    reader.fills(**words, **{"pods N --gpus N": "pods 2 --gpus 2"})
    what_only_looks(reader)
    the_dashboard_is_seen(desk)
    for line in (*HALTS, *GOES_ON):
        reader.types(line)
    eventually(lambda: desk.lab.status_of("mnist").get("phase") == "Running")
    assert desk.lab.status_of("mnist")["attempt"] == 2
    desk.node.stay.remove("mnist")
    followed, waited = reader.reads_at_once(AT_THE_END).values()
    assert "[2] mnist-worker-1 speaks" in followed
    assert "Succeeded" in waited
    for line, told in ONCE_MORE.items():
        assert told in reader.types(line)
    desk.have({"vit": "Succeeded", "cifar": "Succeeded"})
    for line in GO:
        reader.types(line)
    assert not {"mnist", "vit", "cifar"} & desk.phases().keys()
    reader.has_typed(DOCS / "commands.md")
    reader.has_said(proof.PAGES_TEST)
    desk.lab.server.kubectl("delete", "trainingjobs", "--all", "-n", "vision")


def what_only_looks(reader: Reader) -> None:
    """Or starts jobs of other names."""
    pages = DOCS / "commands.md", DOCS / "environment.md"
    lines = {line for page in pages for line in proof.to_type(page)}
    lines |= {line for line in blocks.shown(FAULTS) if "JOB" in line}
    lines |= {str(it) for it in proof.said(proof.PAGES_TEST)}
    here = [
        it for it in lines - {*HALTS, *GOES_ON, *ONCE_MORE, *GO, *AT_THE_END} if " ui" not in it
    ]
    said = reader.reads_at_once(sorted(here, key=lambda it: (" submit" not in it, it)))
    for line, word in {
        "trainingjob stacks mnist": "rank 0 (spawned",
        "trainingjob logs mnist": "[3] mnist-worker-2 speaks",
        "trainingjob run-local -n 3 train.py": "I am rank 2",
        "kubectl get pods,services -l app.kubernetes.io/instance=mnist": "service/mnist ",
        "kubectl tj logs JOB --rank 1": "mnist-worker-0 speaks",
        "kubectl describe trainingjob JOB": "4/4 instances run",
    }.items():
        assert word in said[line]
    (why,) = [text for line, text in said.items() if line.startswith("kubectl tj why JOB")]
    assert "mnist runs: 4/4 instances" in why


def a_job_with_four_pods_runs(desk: Desk) -> None:
    for thing in ("serviceaccount/default", "namespace/vision"):  # a converted job has the second
        desk.lab.server.kubectl("create", *thing.split("/"), "-n", LAB)
    desk.node.stay.add("mnist")
    desk.have({"mnist": "Running"}, PARALLEL_INSTANCES=4)


def a_report_is_sent(desk: Desk, folder: Path) -> None:
    """As docs/reports.md does in a pod, and then who may asks for the whole status."""
    server, url = desk.lab.server, desk.lab.operator.service
    bound = ("--bound-object-kind=Pod", "--bound-object-name=mnist-master")
    audience = "--audience=trainingjob.dev/reports"
    token = server.kubectl("create", "token", "default", "-n", LAB, audience, *bound)
    (folder / "token").write_text(token.stdout)
    report, _, whole = blocks.shown(DOCS / "reports.md")
    here = {"localhost:8081": urlsplit(url).netloc, "namespaces/default": f"namespaces/{LAB}"}
    desk.reader.fills(**here, **{"/run/trainingjob": str(folder)})
    settings = f"export RANK=0 TRAININGJOB_REPORT_URL={url}/api/v1/reports"
    said = desk.reader.types(f"{settings}; {report}")
    assert json.loads(said)["interval"] > 0, said
    for line in (
        "serviceaccount my-account",
        "role asks --verb=get --resource=trainingjobs.trainingjob.dev",
        f"rolebinding asks --role=asks --serviceaccount={LAB}:my-account",
    ):
        server.kubectl("create", *line.split(), "-n", LAB)
    (rank, *_) = eventually(lambda: json.loads(desk.reader.types(whole)).get("ranks"))
    assert (rank["rank"], rank["stage"]) == (0, "spawned")


def the_dashboard_is_seen(desk: Desk) -> None:
    lines = [line for line in blocks.shown(DOCS / "dashboard.md") if "tj ui" in line]
    lines += [it for it in blocks.shown(DOCS / "commands.md") if it.startswith("trainingjob ui")]
    (within,) = filter(proof.is_more_than_a_name, blocks.inline(DOCS / "dashboard.md"))
    lines.append(str(within))
    addresses = at_once(desk.visits, lines)
    all_jobs, one = "at=%2F", "at=%2Fjob%2Flab%2Fmnist"
    ends = [all_jobs, "at=%2F%3Fnamespace%3Dlab", all_jobs, one, all_jobs]
    assert [address.partition("&")[2] for address in addresses] == ends


def test_a_fault_is_looked_at_as_its_page_says(apiserver: ApiServer, tmp_path: Path) -> None:
    """Of jobs with what the page shows of their status: the faults are made in real processes."""
    apiserver.kubectl("create", "namespace", "faults")
    reader = Reader(apiserver, "faults", tmp_path)
    lines = [line for line in blocks.shown(FAULTS) if "JOB" not in line]
    names = sorted(set(re.findall(r"get tj (\w+)", "\n".join(lines))))
    reader.types("kubectl apply -f -", yaml.safe_dump_all(map(a_job, names)))
    failure = {"rank": 2, "pod": "p", "reason": "Error", "message": "a\nb\nc"}
    status = json.dumps({"status": {"message": "what the page says", "failure": failure}})
    patch = f"--subresource=status --type=merge -p '{status}'"
    at_once(lambda name: reader.types(f"kubectl patch tj {name} {patch}"), names)
    reader.types("kubectl create configmap once-stacks-1 --from-literal=stacks.txt='rank 2'")
    said = dict(zip(lines, at_once(reader.types, lines), strict=True))
    header = re.compile(r"NAME +PHASE .+ MESSAGE")
    for line, text in said.items():
        if "-o wide" in line:
            assert header.match(text), line
    assert {said[line] for line in lines if "tail" in line} == {"b\nc"}
    assert {said[line] for line in lines if "stacks" in line} == {"rank 2"}
    shown = re.findall(header, FAULTS.read_text())
    assert {" ".join(it.split()) for it in shown} == {
        " ".join(text.splitlines()[0].split()) for line, text in said.items() if "-o wide" in line
    }


THEIRS = {
    "pytorchjob": "mnist",
    "tfjob": "keras",
    "mpijob-v2beta1": "pi",
    "trainjob-runtime": "tune",
}
"""Files with jobs of Kubeflow's, and what the page calls them."""


def test_jobs_of_kubeflow_are_taken_over_as_the_page_says(desk: Desk) -> None:
    server, defined = desk.lab.server, list[str]()
    try:
        for file, name in THEIRS.items():
            for it in yaml.safe_load_all((checkout.INPUTS / f"{file}.yaml").read_text()):
                group, _, version = it["apiVersion"].partition("/")
                if not group.endswith("kubeflow.org"):
                    continue
                defined.append(definitions.define(server, group, it["kind"], version))
                own = "ours" if it["kind"].endswith("Runtime") else name
                desk.lab.apply({**it, "metadata": {"name": own}})
        said = desk.reader.reads(DOCS / "convert.md")
    finally:
        server.kubectl("delete", "crd", *defined)
    desk.reader.has_typed(DOCS / "convert.md")
    for name in THEIRS.values():
        assert f"trainingjob.trainingjob.dev/{name} created" in "".join(said.values())
