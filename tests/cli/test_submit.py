"""What `submit` reads and shows, before any cluster is asked."""

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from trainingjobs.cli.app import app
from trainingjobs.model.status import Phase

JOB = """
apiVersion: trainingjob.dev/v1
kind: TrainingJob
metadata: {name: mnist}
spec: {PARALLEL_INSTANCES: 3}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TRAININGJOB_IMAGE", raising=False)
    (tmp_path / "train.py").write_text("import data\n")
    (tmp_path / "data.py").write_text("X = 1\n")
    (tmp_path / "job.yaml").write_text(JOB)
    return tmp_path


def submit(*args: str) -> Result:
    return CliRunner().invoke(app, ["submit", "--dry-run", *args])


@pytest.mark.usefixtures("folder")
def test_a_script() -> None:
    shown = submit(
        *("train.py", "-n", "4", "-n", "lab", "--image", "x", "--include", "data.py"),
        *("--env", "A=1=2", "--", "--epochs", "3"),
    )
    assert shown.exit_code == 0, shown.output
    job, files = yaml.safe_load(shown.output)["items"]
    assert job["metadata"] == {"name": "train-dry", "namespace": "lab"}
    assert job["spec"]["PARALLEL_INSTANCES"] == 4
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["command"] == ["python", "/run/script/train.py", "--epochs", "3"]
    assert container["env"] == [{"name": "A", "value": "1=2"}]
    assert files["data"] == {"train.py": "import data\n", "data.py": "X = 1\n"}


TEXTS = (
    "a\n b\n",
    "a\n\n\n",
    " a\nb",
    "\ta\n#b: c\n",
    "a \n b",
    "a\r\nb",
    "\x07\n",
    "- a\n---\n",
    "ü\n☃",
)


@pytest.mark.parametrize("text", TEXTS)
def test_a_script_is_shown_as_it_was_written(folder: Path, text: str) -> None:
    (folder / "train.py").write_bytes(text.encode())
    shown = submit("train.py", "--image", "x").output
    _, files = yaml.safe_load(shown)["items"]
    assert files["data"] == {"train.py": (folder / "train.py").read_text()}


@pytest.mark.usefixtures("folder")
def test_a_script_can_be_read_in_what_is_shown(folder: Path) -> None:
    (folder / "train.py").write_text("import os\n\nif True:\n    print(os.environ['RANK'])\n")
    shown = submit("train.py", "--image", "x").output
    assert "train.py: |\n      import os\n\n      if True:\n          print(" in shown


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("submit no.yaml", "error: no.yaml: No such file or directory\n"),
        ("submit no.py --image x", "error: no.py: No such file or directory\n"),
        ("explain no.yaml", "error: no.yaml: No such file or directory\n"),
        (
            "run-local train.py --epochs 3",
            "comes behind --, as in: train.py -- --epochs. Did you mean '--processes'?\n",
        ),
        (
            "wait mnist --for Stalled",
            f"'Stalled' is not one of {', '.join(repr(it.value.lower()) for it in Phase)}.\n",
        ),
        ("list --epochs", "error: No such option '--epochs'.\n"),
    ],
)
def test_what_cannot_be_done_is_said_once_with_what_to_do(line: str, said: str) -> None:
    shown = CliRunner().invoke(app, line.split(), prog_name="kubectl tj")
    told, _, advice = shown.stderr.partition("See ")
    assert told.startswith("error: ")
    assert told.endswith(said)
    command, misused = line.partition(" ")[0], shown.exit_code == 2
    assert advice == (f"'kubectl tj {command} --help' for usage.\n" if misused else "")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("args", "noted"),
    [
        (["--gpus", "4"], True),
        (["--gpus", "4", "--framework", "PyTorch"], True),
        (["--gpus", "4", "--processes", "auto"], False),
        (["--gpus", "4", "--processes", "1"], False),
        (["--gpus", "4", "--framework", "JAX"], False),
        (["--gpus", "1"], False),
        ([], False),
    ],
)
def test_one_process_for_several_gpus_is_told(args: list[str], *, noted: bool) -> None:
    shown = submit("train.py", "--image", "x", *args)
    words = "one process is started for 4 GPUs: --processes auto starts one for each\n"
    assert shown.stderr == (words if noted else "")
    assert yaml.safe_load(shown.stdout)["kind"] == "List"


@pytest.mark.usefixtures("folder")
def test_a_manifest_with_another_name_and_size() -> None:
    shown = submit("job.yaml", "--name", "other", "--instances", "5", "-n", "lab")
    job = yaml.safe_load(shown.output)
    assert job["metadata"] == {"name": "other", "namespace": "lab"}
    assert job["spec"] == {"PARALLEL_INSTANCES": 5}
    assert submit("job.yaml", "-o", "name").output == "trainingjob.trainingjob.dev/mnist\n"


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["train.py"], 2, "--image, or $TRAININGJOB_IMAGE"),
        (["absent.py", "--image", "x"], 1, "absent.py"),
        (["odd name.py", "--image", "x"], 1, "is no name for a file that is sent"),
        (["binary.py", "--image", "x"], 1, "is no text"),
        (["large.py", "--image", "x"], 1, "a ConfigMap takes 1,000,000"),
        (["train.py", "--image", "x", "--include", "sub/train.py"], 1, "two files are called"),
        (["train.py", "--image", "x", "--env", "A"], 2, "NAME=VALUE"),
        (["job.yaml", "--image", "x"], 2, "for scripts alone: --image"),
        (["job.yaml", "--", "--epochs"], 2, "for scripts alone: --epochs"),
        (["two.yaml"], 1, "submit takes one TrainingJob"),
        (["broken.yaml"], 1, "broken.yaml"),
        (["empty.yaml"], 1, "has nothing"),
        (["number.yaml", "-n", "lab"], 1, "number.yaml: metadata is no object with fields: 4"),
        (["list.yaml", "--instances", "2"], 1, "list.yaml: spec is no object with fields: ['a']"),
        (["..x", "--image", "x"], 1, "'..x' is no name for a file that is sent"),
        (["named.yaml"], 1, "named.yaml: metadata.name is no text"),
        (["labels.yaml"], 1, "labels.yaml: metadata.labels is no object"),
    ],
)
def test_what_cannot_be_submitted(folder: Path, args: list[str], code: int, words: str) -> None:
    (folder / "odd name.py").write_text("")
    (folder / "binary.py").write_bytes(b"\xff\xfe")
    (folder / "large.py").write_text("x" * 1_000_001)
    (folder / "sub").mkdir()
    (folder / "sub" / "train.py").write_text("")
    (folder / "two.yaml").write_text(f"{JOB}---{JOB}")
    (folder / "broken.yaml").write_text("a: [")
    (folder / "empty.yaml").write_text("")
    (folder / "..x").write_text("")
    for name, part in (
        ("number", "metadata: 4"),
        ("list", "spec: [a]"),
        ("named", "metadata: {name: 3}"),
        ("labels", "metadata: {name: x, labels: 3}"),
    ):
        (folder / f"{name}.yaml").write_text(f"kind: TrainingJob\n{part}\n")
    shown = submit(*args)
    assert (shown.exit_code, words in shown.output) == (code, True), shown.output


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "size", [["--instances", "4"], ["-n", "4"], ["-n", "2", "--instances", "4"]]
)
def test_a_scripts_size(size: list[str]) -> None:
    shown = submit("train.py", "--image", "x", *size)
    assert shown.exit_code == 0, shown.output
    assert yaml.safe_load(shown.output)["items"][0]["spec"]["PARALLEL_INSTANCES"] == 4


@pytest.mark.usefixtures("folder")
def test_no_namespace_is_made_up() -> None:
    items = yaml.safe_load(submit("train.py", "--image", "x").output)["items"]
    assert [item["metadata"].get("namespace") for item in items] == [None, None]
