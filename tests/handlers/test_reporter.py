"""Which files the pods get, and under which names."""

import sys
from pathlib import Path

import pytest

from trainingjobs import podfiles
from trainingjobs.handlers import reporter
from trainingjobs.settings import Settings


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A reporter that is found before the real one, and fails when it is imported."""
    folder = tmp_path / "_trainingjob"
    folder.mkdir()
    (tmp_path / "trainingjob").mkdir()
    (tmp_path / "trainingjob" / "__init__.py").write_text("raise SystemExit  # told")
    for name in ("__init__.py", "_wire.py", "_sitecustomize.py"):
        (folder / name).write_text(f"raise SystemExit  # {name}, café\n", encoding="utf-8")
    (folder / "notes.txt").write_text("no code")
    for name in ("trainingjob", "_trainingjob"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    return folder


def test_pods_get_the_package_and_what_starts_it(package: Path) -> None:
    found = podfiles.reporter()
    assert set(found) == {
        "sitecustomize.py",
        "_trainingjob/__init__.py",
        "_trainingjob/_wire.py",
        "public/trainingjob/__init__.py",
    }
    assert found["sitecustomize.py"] == (package / "_sitecustomize.py").read_text(encoding="utf-8")


def test_the_site_is_what_the_settings_say(package: Path) -> None:
    settings = Settings(cluster_domain="k8s.test", report_url="http://here/api/v1/reports")
    found = reporter.site(settings)
    assert (found.domain, found.report_url) == ("k8s.test", "http://here/api/v1/reports")
    before = found.digest
    (package / "_wire.py").write_text("# newer\n")
    assert reporter.site(settings).digest != before


def test_pods_get_four_programs_and_the_package_that_they_import() -> None:
    found = podfiles.launcher()
    programs = {path for path in found if "/" not in path}
    assert programs == {"door", "launch", "ssh", "hosts"}
    assert len({found[path] for path in programs}) == 1
    assert {f"_trainingjob_launch/{name}.py" for name in (*programs, "__init__", "main")} < set(
        found
    )
    assert not [path for path in found if "_script" in path]
    assert found["ssh"].startswith('#!/bin/sh\n"""exec" python3 -I -S "$0" "$@"\n')


def test_each_process_of_the_operator_makes_keys_from_a_secret_of_its_own() -> None:
    one, other = (reporter.site(Settings()).secret for _ in range(2))
    assert len(one) == 32
    assert one != other


def test_an_operator_without_a_reporter_has_no_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(podfiles, "PACKAGE", "no_such_package")
    monkeypatch.setattr(podfiles, "PUBLIC", "no_such_package")
    assert podfiles.reporter() == {}
