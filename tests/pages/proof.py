"""Which test runs each command of the pages word by word, and why one is not run like that.

Held to the pages by tests/pages/test_commands.py: a command that is new on a page has to be run
by the test that is named here, or to get a reason. What is in capitals (JOB, DIGEST) is filled in.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from pages import blocks
from pages.blocks import Command

PAGES_TEST = "tests/integration/test_pages.py"
RELEASE_TEST = "tests/integration/test_release.py"
RIGHTS_TEST = "tests/integration/test_rights_of_pages.py"
HOWTO_TEST = "tests/integration/test_howto_pages.py"
OFFLINE_TEST = "tests/pages/test_commands.py"

TYPED: Mapping[str, str] = {
    "README.md": PAGES_TEST,
    "charts/trainingjob-operator/README.md": RELEASE_TEST,
    "docs/cli.md": PAGES_TEST,
    "docs/commands.md": PAGES_TEST,
    "docs/convert.md": PAGES_TEST,
    "docs/dashboard.md": RIGHTS_TEST,
    "docs/environment.md": PAGES_TEST,
    "docs/howto/airgapped.md": RELEASE_TEST,
    "docs/howto/checkpoints.md": PAGES_TEST,
    "docs/howto/elastic.md": HOWTO_TEST,
    "docs/howto/gpu.md": PAGES_TEST,
    "docs/howto/istio.md": RELEASE_TEST,
    "docs/howto/kueue.md": HOWTO_TEST,
    "docs/howto/registries.md": RELEASE_TEST,
    "docs/howto/restricted.md": PAGES_TEST,
    "docs/index.md": "tests/e2e/test_docs.py",
    "docs/install.md": RELEASE_TEST,
    "docs/k9s.md": OFFLINE_TEST,
    "docs/metrics.md": RELEASE_TEST,
    "docs/notify.md": RELEASE_TEST,
    "docs/operating.md": RELEASE_TEST,
    "docs/tour.md": "website/tour.py",
    "docs/troubleshooting.md": PAGES_TEST,
    **{
        str(page.relative_to(blocks.ROOT)): PAGES_TEST
        for page in blocks.PAGES
        if page.match("examples/*/README.md")
    },
}
"""Pages, and the file that runs their lines as they stand; but for those of ELSEWHERE.

There the API server, Helm and the operator are real, and the test plays the pods.
"""
WITH_PODS: Mapping[str, str] = {
    "README.md": "tests/e2e/test_docs.py",
    "charts/trainingjob-operator/README.md": "tests/upgrade/test_upgrade.py",
    "docs/cli.md": "tests/e2e/test_cli.py",
    "docs/commands.md": "tests/e2e/test_cli.py",
    "docs/convert.md": "tests/e2e/test_convert.py",
    "docs/dashboard.md": "tests/browser/test_page.py",
    "docs/environment.md": "tests/e2e/test_docs.py",
    "docs/howto/airgapped.md": "tests/upgrade/test_upgrade.py",
    "docs/howto/checkpoints.md": "tests/e2e/test_examples_checkpoint.py",
    "docs/howto/elastic.md": "tests/e2e/test_elastic.py",
    "docs/howto/registries.md": "tests/upgrade/test_upgrade.py",
    "docs/index.md": "tests/e2e/test_docs.py",
    "docs/install.md": "tests/upgrade/test_upgrade.py",
    "docs/metrics.md": "tests/monitoring/test_dashboard.py",
    "docs/notify.md": "tests/integration/test_notify.py",
    "docs/operating.md": "tests/e2e/test_leader.py",
    "docs/tour.md": "website/tour.py",
    "docs/troubleshooting.md": "tests/e2e/test_rollcall.py",
    "examples/*": "tests/e2e/table.py",
}
"""Where what a page is about is done by real processes, in words of that test's own."""

SAID: Mapping[str, str] = {
    "docs/install.md": RELEASE_TEST,
    "docs/operating.md": RELEASE_TEST,
    "*": PAGES_TEST,
}
"""Who runs what is said within a sentence; a program's name with one word is a mention."""

WORDS, SAME, READ = "word by word", "by another way", "read alone"


@dataclass(frozen=True)
class Elsewhere:
    """Commands that the page's own test does not run."""

    page: str
    """A pattern."""
    command: str
    """A pattern for the whole of it."""
    how: str
    """WORDS: another file runs it as it stands. SAME: it runs the same in words of its own.
    READ: no test runs it; it is parsed, and what it names is there."""
    proof: str
    why: str = ""


ELSEWHERE = (
    Elsewhere("docs/dashboard.md", r"kubectl tj ui.*", WORDS, PAGES_TEST),
    Elsewhere("docs/howto/restricted.md", r"kubectl label .*", WORDS, RIGHTS_TEST),
    Elsewhere("docs/notify.md", r"kubectl -n lab create .*", WORDS, RIGHTS_TEST),
    Elsewhere("docs/index.md", r"export .*|kubectl tj submit .*", WORDS, PAGES_TEST),
    Elsewhere("*", r"(kubectl tj|trainingjob) explain .*", WORDS, OFFLINE_TEST),
    Elsewhere("README.md", r"helm install .*", WORDS, RELEASE_TEST),
    Elsewhere("docs/commands.md", r"trainingjob completion fish", WORDS, OFFLINE_TEST),
    Elsewhere("docs/convert.md", r"python -m trainingjobs\.convert .*", WORDS, OFFLINE_TEST),
    Elsewhere("docs/index.md", r"kubectl tj (wait|stacks) ddp", WORDS, PAGES_TEST),
    Elsewhere("examples/04-*", r"kubectl get trainingjob elastic .*", WORDS, PAGES_TEST),
    Elsewhere(
        "docs/cli.md", r"trainingjob run-local .* --python .*", SAME, "tests/cli/test_run_local.py",
        "there is no such environment",
    ),
    Elsewhere("docs/commands.md", r"source", READ, "", "fish is not there"),
    Elsewhere(
        "docs/reports.md", r"curl .*|cat .*|hostname|kubectl create token .*", SAME, PAGES_TEST,
        "the folder, the port and the namespace are the test's",
    ),
    Elsewhere(
        "docs/reports.md", r"kubectl .* port-forward .*", SAME, "tests/e2e/harness.py",
        "a real kubelet is needed",
    ),
    Elsewhere(
        "docs/operating.md", r"kubectl get --raw .*", SAME, "tests/integration/operators.py",
        "who leads is asked at the same path, without the API server between",
    ),
    Elsewhere(
        "examples/08-*", r"kubectl exec .*", SAME, "tests/e2e/test_examples_torch.py",
        "a real process falls there, by a program of the test's",
    ),
    Elsewhere(
        "*", r"trainingjob run-local .*(examples/01-ddp|--processes 2).*", SAME,
        "website/tour.py", "they need torch, which `make tour` has",
    ),
    Elsewhere(
        "examples/*", r"make images .*|python -m localcluster\.images load .*", SAME,
        "tests/e2e/images.py", "the second builds what the first does",
    ),
    Elsewhere(
        "*", r"docker build .*TORCH_INDEX=.*", READ, "", "torch for CUDA is fetched from an index"
    ),
    Elsewhere(
        "*", r"docker build .*", SAME, "localcluster/images/docker.py",
        "make deploy builds the same files under names of its own; with buildah where no engine is",
    ),
    Elsewhere("*", r"docker (push|save|load) .*", READ, "", "no registry is there"),
    Elsewhere(
        "docs/convert.md", r"docker run .*", SAME, "tests/convert/test_command.py",
        "the program, without its image",
    ),
    Elsewhere(
        "*", r"python3 -m venv ~/tj|'?~/tj/bin/pip'? install .*", SAME, "Makefile",
        "make install puts the same package into .venv, with uv",
    ),
    Elsewhere("README.md", r"make test", WORDS, ".ci/run"),
    Elsewhere("*", r"make quickstart", WORDS, "tests/e2e/test_quickstart.py"),
    Elsewhere(
        "*", r"(\S+ )?make (quickstart|node-image)( .*)?", READ, "", "a Docker engine is needed"
    ),
    Elsewhere("localcluster/README.md", r"make install", WORDS, "Makefile"),
    Elsewhere(
        "localcluster/README.md", r".* localcluster (up|kubeconfig)|export .*", SAME, "Makefile",
        "make e2e brings it up like that, and asks for its kubeconfig",
    ),
    Elsewhere(
        "localcluster/README.md", r".* localcluster load .*", SAME,
        "localcluster/images/__main__.py", "make deploy loads the images so",
    ),
    Elsewhere("localcluster/README.md", r".* localcluster down", READ, "", "others use it"),
    Elsewhere("docs/reliability.md", r".*make faults.*", READ, "", "it is a run by itself"),
    Elsewhere("docs/reliability.md", r".*/pytest -m faults .*", READ, "", "a case of that run"),
    Elsewhere(
        "docs/reliability.md", r"FAULTS_RECORD=1 .*/pytest .*", SAME,
        "tests/faults/test_recordings.py", "make integration runs it without writing",
    ),
    Elsewhere(
        "docs/rollcall.md", r"kubectl get configmap .*", SAME, PAGES_TEST, "with a job's name"
    ),
)  # fmt: skip
"""Looked through from the top; the first that fits counts."""


def elsewhere(command: Command) -> Elsewhere | None:
    """Why a page's own test does not run it."""
    fitting = (it for it in ELSEWHERE if fnmatchcase(command.page, it.page))
    return next((it for it in fitting if re.fullmatch(it.command, str(command))), None)


def said(file: str) -> Iterator[Command]:
    """Commands within the sentences of pages that a test runs, where no block shows them too."""
    shown = {str(it) for page in blocks.PAGES for it in blocks.commands(page)}
    for page in blocks.PAGES:
        where = str(page.relative_to(blocks.ROOT))
        if SAID.get(where, SAID["*"]) == file:
            found = (it for it in blocks.inline(page) if is_more_than_a_name(it))
            yield from (it for it in found if str(it) not in shown and elsewhere(it) is None)


def is_more_than_a_name(command: Command) -> bool:
    """`kubectl tj why` is a name; what make has is looked up in the Makefile."""
    program, *words = command.words
    return program != "make" and len(words) - (words[:1] == ["tj"]) > 1


def to_type(page: Path) -> Iterator[str]:
    """The lines of a page that its own test runs."""
    where = str(page.relative_to(blocks.ROOT))
    for line in blocks.shown(page):
        if all(elsewhere(it) is None for it in blocks.parsed(where, line)):
            yield line
