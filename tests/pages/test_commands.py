"""Every command that the documentation shows is one that works, as far as that is known offline.

Programs of ours are parsed by themselves and, where they need no cluster, run. kubectl and helm run
for real against an API server that has nothing; make's targets, docker's files and pip's extras are
looked up. A program that is not known here fails the test: nothing is shown that nobody looked at.
So a command is parsed, and its effect is not seen here. Which test runs it as it stands, or why
none does, is in tests/pages/proof.py; here it is seen that no command is missing there.
"""

import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from click.testing import CliRunner

from localcluster import binaries
from pages import blocks, checkout, proof, server
from pages.checkout import STAND_INS
from trainingjobs.cli.app import COMMANDS, app
from trainingjobs.model.job import TrainingJob, parse
from trainingjobs.schema.definition import definition
from trainingjobs.status import conditions

ROOT = blocks.ROOT
MAKEFILE = (ROOT / "Makefile").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PLACEHOLDERS = {"DIGEST": "0" * 64, "NEW-TAG": "1.0"}
OFFLINE = {"explain", "convert", "completion"}
"""Commands of ours that are run; `run-local` needs torch: tests/cli/test_run_local.py."""


def unique(found: Iterator[blocks.Command]) -> list[blocks.Command]:
    return sorted({(it.words, it.settings): it for it in found}.values())


FENCED = [it for page in blocks.PAGES for it in blocks.commands(page)]
SHOWN = unique(it for it in FENCED)
SAID = unique(it for page in blocks.PAGES for it in blocks.inline(page))


@dataclass(frozen=True)
class Place:
    """A folder like the checkout with the reader's own files in it, and a cluster with nothing."""

    folder: Path
    kubeconfig: Path
    programs: Path
    asked: set[str] = field(default_factory=set)
    """Shapes of commands that kubectl has read: names alone make no new one."""

    def run(self, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run a program in it."""
        home = {"HELM_CACHE_HOME": f"{self.folder}/helm", "HOME": str(self.folder)}
        return subprocess.run(
            words,
            cwd=self.folder,
            env={**os.environ, **home, "KUBECONFIG": str(self.kubeconfig)},
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("checkout")
    checkout.lay(folder)
    with server.served(tmp_path_factory.mktemp("server")) as kubeconfig:
        yield Place(folder, kubeconfig, binaries.ensure(["kubectl", "helm"]))


def ours(_: Place, args: list[str]) -> None:
    """A command of ours, parsed by itself; run where it needs no cluster."""
    context = app.make_context("trainingjob", list(args))
    rest = [*context._protected_args, *context.args]  # noqa: SLF001  click tells it nowhere else
    if not rest:
        return
    command = app.get_command(context, rest[0])
    assert command is not None, f"there is no command {rest[0]}"
    try:
        command.make_context(rest[0], rest[1:], parent=context)
    except click.exceptions.Exit:
        return
    if rest[0] in OFFLINE and "-" not in rest:
        done = CliRunner().invoke(app, args)
        assert done.exit_code == 0, done.output
        assert done.stdout


def kubectl(place: Place, args: list[str]) -> None:
    if args[0] in PLUGIN:
        ours(place, args[1:])
        return
    fields(args)
    files = [word for before, word in pairwise(args) if before == "-f"]
    assert [it for it in files if it != "-" and not (place.folder / it).exists()] == []
    shape = " ".join(re.sub(r"\S+\.yaml|/[\w-]+|[\w-]+-(master|worker-\d)", "X", it) for it in args)
    if args[0] != "explain" and shape not in place.asked:
        place.asked.add(shape)
        really(place, args)


def really(place: Place, args: list[str]) -> None:
    """Against a server that has nothing: the only thing wrong is that nothing is found."""
    more = ["--validate=false"] if "apply" in args else []
    stdin = STAND_INS["job.yaml"].read_text()
    done = place.run(str(place.programs / "kubectl"), *args, *more, stdin=stdin)
    missing = "NotFound" in done.stderr or server.NOTHING in done.stderr
    assert missing or done.returncode == 0, done.stderr
    assert "unknown" not in done.stderr


def fields(args: list[str]) -> None:
    """Fields of a TrainingJob in templates and paths, and conditions that are waited for."""
    if not any(re.match(r"(trainingjobs?|tj)\b", word) for word in args):
        return
    (version,) = definition()["spec"]["versions"]
    whole = version["schema"]["openAPIV3Schema"]
    text = " ".join(args)
    for path in re.findall(r"\{\.([\w.]+)\}|trainingjobs?\.(\w[\w.]*)", text):
        assert known(whole, "".join(path).split(".")), path
    for condition in re.findall(r"--for=condition=(\w+)", text):
        assert condition in {value for value in vars(conditions).values() if isinstance(value, str)}


def known(schema: Mapping[str, Any], path: list[str]) -> bool:
    if not path or path[0] in {"trainingjob", "dev"}:
        return True
    child = schema.get("properties", {}).get(path[0])
    return child is not None and known(child, path[1:])


def helm(place: Place, args: list[str]) -> None:
    """Its flags by itself, against the server that has nothing; its values by the chart."""
    program = str(place.programs / "helm")
    words = [re.sub("|".join(PLACEHOLDERS), lambda it: PLACEHOLDERS[it[0]], word) for word in args]
    said = place.run(program, *words)
    assert not re.search(r"unknown (flag|command|shorthand)|accepts \d", said.stderr), said.stderr
    if words[0] in {"install", "upgrade"}:
        told = {"--set", "--set-string"}
        flags = [f"{flag}={value}" for flag, value in pairwise(words) if flag in told]
        done = place.run(program, "template", words[1], words[2], *flags)
        assert done.returncode == 0, done.stderr


def make(place: Place, args: list[str]) -> None:
    """Told what it would do; a setting is one that the Makefile reads."""
    done = place.run("env", "-u", "MAKEFLAGS", "-u", "MAKELEVEL", "make", "--dry-run", *args)
    assert done.returncode == 0, done.stderr
    for word in args:
        name, is_setting, _ = word.partition("=")
        pattern = rf"\b{name}\b" if is_setting else rf"^{name}:"
        assert re.search(pattern, MAKEFILE, re.MULTILINE), f"the Makefile has no {name}"


def python(place: Place, args: list[str]) -> None:
    flag, module, *rest = args
    assert flag == "-m"
    assert importlib.util.find_spec(module) is not None, module
    if module == "trainingjobs.convert" and rest != ["-"]:
        done = place.run(sys.executable, "-m", module, *rest)
        assert done.returncode == 0, done.stderr


def pytest_(place: Place, args: list[str]) -> None:
    marks = [name.partition("(")[0].partition(":")[0] for name in
             PROJECT["tool"]["pytest"]["ini_options"]["markers"]]  # fmt: skip
    for before, word in pairwise(args):
        assert before != "-m" or word in marks, word
        assert not word.startswith("tests/") or (place.folder / word).exists(), word
        if before == "-k":  # the one case of many that is named there
            asked = ("-m", "pytest", "--collect-only", "-q", "tests/faults", *args)
            done = place.run(sys.executable, *asked)
            assert re.search(r"^1/\d+ tests collected", done.stdout, re.MULTILINE), done.stdout


def docker(place: Place, args: list[str]) -> None:
    assert args[0] in {"build", "push", "run", "save", "load"}, args[0]
    text = "".join(
        (place.folder / word).read_text() for before, word in pairwise(args) if before == "-f"
    )
    for before, word in pairwise(args):
        name = word.partition("=")[0]
        assert before != "--build-arg" or re.search(rf"^ARG {name}\b", text, re.MULTILINE), word


def venv(place: Place, args: list[str]) -> None:
    del place
    assert args[:2] == ["-m", "venv"]
    assert len(args) == 3


def pip(place: Place, args: list[str]) -> None:
    del place
    verb, what = args
    assert verb in {"install", "download"}
    extras = re.fullmatch(r"\.(?:\[(\w+)\])?", what)
    assert extras is not None
    assert extras[1] is None or extras[1] in PROJECT["project"]["optional-dependencies"]


def copy(place: Place, args: list[str]) -> None:
    """What is copied is there."""
    assert [
        it for it in args[:-1] if not it.startswith("-") and not (place.folder / it).exists()
    ] == []


def nothing(place: Place, args: list[str]) -> None:
    """Of the shell itself, or done by the test that tests/pages/proof.py names."""
    del place, args


PROGRAMS: Mapping[str, Callable[[Place, list[str]], None]] = {
    "kubectl": kubectl,
    "trainingjob": ours,
    "helm": helm,
    "make": make,
    "python": python,
    ".venv/bin/python": python,
    ".venv/bin/pytest": pytest_,
    "docker": docker,
    "pip": pip,
    "python3": venv,
    "~/tj/bin/pip": pip,
    "curl": nothing,  # tests/handlers/test_reports_document.py sends what they send
    "cp": copy,
    "mkdir": nothing,
    "echo": nothing,
    "tail": nothing,
    "cat": nothing,
    "hostname": nothing,
    "export": nothing,  # what it asks for in $(…) is a command of its own here
    "source": nothing,  # the same of `<(…)`
}


@pytest.mark.parametrize("command", SHOWN, ids=str)
def test_a_command_works(
    command: blocks.Command, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, *args = command.words
    assert program in PROGRAMS, f"{command.page} shows a program that nobody looks at: {program}"
    monkeypatch.chdir(place.folder)
    PROGRAMS[program](place, args)
    for setting in command.settings:
        assert setting.partition("=")[0] in MAKEFILE + CODE, setting


CODE = "".join(path.read_text() for path in (ROOT / "tests").rglob("*.py"))


@pytest.mark.parametrize("command", SAID, ids=str)
def test_a_command_in_a_sentence_works(
    command: blocks.Command, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name without arguments is there; with arguments it is a command like those in blocks."""
    program, *args = (re.sub(r"^N$", "2", word) for word in command.words)
    monkeypatch.chdir(place.folder)
    own = program == "trainingjob" or args[0] in PLUGIN
    verbs = args[1:] if args[0] in PLUGIN else args
    if own and len(verbs) < 2:
        assert set(verbs) <= COMMANDS.keys()
    elif own:
        ours(place, verbs)
    elif program != "make" and len(args) < 2:
        done = place.run(str(place.programs / program), *args, "--help")
        assert done.returncode == 0, done.stderr
    else:
        PROGRAMS[program](place, args)


PLUGIN = {"tj", "trainingjob"}


@pytest.mark.parametrize(
    "line",
    [
        "kubectl get tjobs",
        "kubectl get tj mnist --wild",
        "kubectl wait trainingjob/mnist --for=condition=Done",
        "kubectl get trainingjob mnist -o jsonpath='{.status.failure.rang}'",
        "kubectl explain trainingjob.spec.workers",
        "kubectl apply -f examples/01-ddp/nothing.yaml",
        "kubectl scale trainingjob/mnist",
        "kubectl tj look mnist",
        "kubectl tj logs --all mnist",
        "kubectl tj wait mnist --timeout soon",
        "trainingjob explain nothing.yaml",
        "make everything",
        "make faults FAULT_SECONDS=3",
        "helm install x charts/trainingjob-operator --set images.tag=1",
        "helm upgrade x charts/trainingjob-operator --reuse-old",
        "docker build -f images/trainer/Dockerfile --build-arg TORCH=1 .",
        "docker build -f images/nothing/Dockerfile .",
        "python -m localcluster.nothing",
        ".venv/bin/pytest -m slow",
        "pip install '.[everything]'",
    ],
)
def test_a_command_that_does_not_work_is_found(
    line: str, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place.folder)
    (command,) = blocks.parsed("page", line)
    program, *args = command.words
    with pytest.raises((AssertionError, click.ClickException, OSError)):
        PROGRAMS[program](place, args)


def test_each_command_is_run_or_it_is_said_why_not() -> None:
    left = {f"{it.page}: {it}" for it in FENCED if proof.elsewhere(it) is None
            and it.page not in proof.TYPED}  # fmt: skip
    assert left == set()


@pytest.mark.parametrize("reason", proof.ELSEWHERE, ids=lambda it: f"{it.page} {it.command}")
def test_a_reason_is_for_a_command_that_is_shown(reason: proof.Elsewhere) -> None:
    assert any(proof.elsewhere(it) is reason for it in [*FENCED, *SAID])
    assert (ROOT / reason.proof).is_file() == (reason.how != proof.READ)
    assert reason.why or reason.how == proof.WORDS


@pytest.mark.parametrize(("page", "file"), proof.TYPED.items())
def test_who_types_the_lines_of_a_page_speaks_of_it(page: str, file: str) -> None:
    name = page.removeprefix("docs/")
    text = (ROOT / file).read_text(encoding="utf-8")
    named = f'"{name}"' in text or f'"{page}"' in text or f'"{Path(page).name}"' in text
    assert named or (page.startswith("examples/") and '"examples"' in text)


def test_who_does_it_with_pods_is_there() -> None:
    assert [it for it in proof.WITH_PODS.values() if not (ROOT / it).is_file()] == []


K9S = ROOT / "docs" / "k9s.md"


def test_k9s_finds_its_files_where_the_page_puts_them(place: Place) -> None:
    for line in proof.to_type(K9S):
        done = place.run("bash", "-c", line)
        assert done.returncode == 0, done.stderr
    for name in ("views.yaml", "plugins.yaml"):
        put = place.folder / ".config/k9s" / name
        assert put.read_bytes() == (K9S.with_suffix("") / name).read_bytes()


def test_what_is_said_of_the_ring_is_what_the_page_shows(place: Place) -> None:
    page = ROOT / "docs" / "convert.md"
    (line,) = (it for it in blocks.commands(page) if "ring.yaml" in it.words)
    said = place.run(sys.executable, *line.words[1:]).stderr
    shown = re.findall(r"^JobSet/ring: .+\n", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert shown
    assert [it for it in shown if it not in said] == []


TRAINING_JOBS = [
    (str(page.relative_to(ROOT)), text)
    for page in blocks.PAGES
    for language, text in blocks.blocks(page.read_text(encoding="utf-8"))
    if language == "yaml" and "kind: TrainingJob" in text
]


@pytest.mark.parametrize(("page", "text"), TRAINING_JOBS)
def test_a_job_that_is_shown_is_one(page: str, text: str) -> None:
    (job,) = yaml.safe_load_all(text)
    metadata = {"namespace": "default", "uid": "u", **job["metadata"]}
    parsed = parse({**job, "metadata": metadata})
    assert isinstance(parsed, TrainingJob), f"{page}: {parsed}"
