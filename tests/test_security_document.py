"""Every test and file that docs/security.md names is there: a claim without its proof is none."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCUMENT = (ROOT / "docs" / "security.md").read_text()


def test_every_test_that_it_names_is_there() -> None:
    named = set(re.findall(r"`(test_\w+)`", DOCUMENT))
    code = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    assert len(named) > 20
    assert {name for name in named if f"def {name}(" not in code} == set()


def test_every_file_that_it_names_is_there() -> None:
    named = set(re.findall(r"`((?:tests|handlers|cluster|model)/[\w/.]+|\.\w+\.yaml)`", DOCUMENT))
    places = (ROOT, ROOT / "operator" / "trainingjobs")
    assert len(named) > 8
    assert {name for name in named if not any((it / name).exists() for it in places)} == set()


def test_whatever_checkov_leaves_out_has_a_reason() -> None:
    lines = (ROOT / ".checkov.yaml").read_text().splitlines()
    assert all(" # " in line for line in lines if line.strip().startswith("- CKV"))
