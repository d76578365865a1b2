"""Every test and file that docs/security.md names is there: a claim without its proof is none."""

import re
from pathlib import Path

from localcluster import versions

ROOT = Path(__file__).parents[1]
DOCUMENT = (ROOT / "docs" / "security.md").read_text()


def test_every_test_that_it_names_is_there() -> None:
    named = set(re.findall(r"`(test_\w+)`", DOCUMENT))
    code = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    assert len(named) > 20
    assert {name for name in named if f"def {name}(" not in code} == set()


def test_every_file_that_it_names_is_there() -> None:
    folders = r"(?:tests|handlers|cluster|model)/[\w/.]+"
    named = set(re.findall(rf"`({folders}|\.\w+\.yaml|\.kube-score)`", DOCUMENT))
    places = (ROOT, ROOT / "operator" / "trainingjobs")
    assert len(named) > 8
    assert {name for name in named if not any((it / name).exists() for it in places)} == set()


def test_whatever_checkov_leaves_out_has_a_reason() -> None:
    lines = (ROOT / ".checkov.yaml").read_text().splitlines()
    assert all(" # " in line for line in lines if line.strip().startswith("- CKV"))


def test_whatever_kube_score_is_told_has_a_reason() -> None:
    lines = (ROOT / ".kube-score").read_text().splitlines()
    assert all(" # " in line for line in lines if not line.startswith("#"))


def test_kube_score_looks_with_the_eyes_of_the_newest_kubernetes() -> None:
    minor = versions.KUBERNETES.rpartition(".")[0]
    assert f"--kubernetes-version v{minor} #" in (ROOT / ".kube-score").read_text()


def test_the_versions_of_the_scanners_are_those_that_run() -> None:
    checkov = re.search(
        r"^CHECKOV_VERSION := (\S+)$", (ROOT / "Makefile").read_text(), re.MULTILINE
    )
    assert checkov is not None
    assert f"| checkov {checkov[1]} |" in DOCUMENT
    assert f"| kube-score {versions.KUBE_SCORE} |" in DOCUMENT
