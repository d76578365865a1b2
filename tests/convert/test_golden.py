"""Jobs like those of the other projects' documentation, and what becomes of each.

`UPDATE_GOLDEN=1 pytest tests/convert/test_golden.py` writes the outputs anew: read the difference.
"""

import os
from pathlib import Path

import pytest

from convert.valid import faults, jobs_in
from trainingjobs.convert import stream

HERE = Path(__file__).parent
INPUTS = sorted((HERE / "inputs").glob("*.yaml"))


@pytest.mark.parametrize("path", INPUTS, ids=[path.stem for path in INPUTS])
def test_what_becomes_of_it(path: Path) -> None:
    done = stream.convert([(path.name, path.read_text())])
    manifest, notes = (HERE / "outputs" / f"{path.stem}.{ending}" for ending in ("yaml", "txt"))
    words = "".join(f"{line}\n" for line in done.words)
    if os.environ.get("UPDATE_GOLDEN"):
        manifest.write_text(done.manifests)
        notes.write_text(words)
    assert not done.refused
    assert done.manifests == manifest.read_text()
    assert words == notes.read_text()


@pytest.mark.parametrize("path", INPUTS, ids=[path.stem for path in INPUTS])
def test_what_becomes_of_it_is_a_valid_job(path: Path) -> None:
    (job,) = jobs_in((HERE / "outputs" / f"{path.stem}.yaml").read_text())
    assert faults(job) == []


def test_no_output_is_left_over() -> None:
    outputs = {path.stem for path in (HERE / "outputs").iterdir()}
    assert outputs == {path.stem for path in INPUTS}


def test_the_page_shows_words_that_are_true() -> None:
    page = (HERE.parents[1] / "docs" / "convert.md").read_text()
    shown = [line for line in page.splitlines() if line.startswith("JobSet/ring: ")]
    assert shown
    assert set(shown) <= set((HERE / "outputs" / "jobset.txt").read_text().splitlines())
