"""The examples' manifests are what the resource allows, and name files that are there."""

import re
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml

from localcluster.images import catalog
from trainingjobs.model.job import TrainingJob, parse
from trainingjobs.model.spec import Manifest

EXAMPLES = Path(__file__).parents[2] / "examples"
FOLDERS = sorted(path.parent for path in EXAMPLES.glob("*/job.yaml"))


def read(folder: Path, body: Manifest | None = None) -> TrainingJob:
    body = body or yaml.safe_load((folder / "job.yaml").read_text())
    assert body is not None
    body["metadata"] |= {"namespace": "lab", "uid": "1"}
    job = parse(body)
    assert isinstance(job, TrainingJob), job
    return job


def test_every_example_has_a_job_and_a_number_of_its_own() -> None:
    folders = sorted(path for path in EXAMPLES.iterdir() if path.is_dir())
    assert folders == FOLDERS
    numbers = [folder.name.partition("-")[0] for folder in folders]
    assert len({*numbers}) == len(numbers) > 0
    assert all(number.isdigit() for number in numbers)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_its_image_is_one_of_ours_and_holds_it(folder: Path) -> None:
    (container,) = read(folder).template(rank=1)["spec"]["containers"]
    (image,) = (one for one in catalog.IMAGES.values() if one.reference() == container["image"])
    assert {"examples", f"examples/{folder.name}"} & {*image.inputs}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_its_script_is_in_the_image_folder(folder: Path) -> None:
    (container,) = read(folder).template(rank=1)["spec"]["containers"]
    script = container["command"][-1]
    assert script.startswith("/examples/")
    assert (EXAMPLES / script.removeprefix("/examples/")).is_file()


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_its_readme_names_its_commands(folder: Path) -> None:
    words = (folder / "README.md").read_text()
    assert f"kubectl apply -f examples/{folder.name}/job.yaml" in words
    assert f"kubectl wait trainingjob/{read(folder).name} " in words


WRITTEN = sorted(
    (str(path.relative_to(EXAMPLES)), name)
    for path in EXAMPLES.glob("*/*.py")
    for name in re.findall(r'environ\.get\("(?:OUTPUT|CHECKPOINTS?)", "(.+)"\)', path.read_text())
)


@pytest.mark.parametrize(("script", "name"), WRITTEN)
def test_what_it_writes_where_it_is_run_is_no_part_of_the_project(script: str, name: str) -> None:
    """`trainingjob run-local` in a checkout leaves it there, and `git add .` came upon it."""
    ignored = (EXAMPLES.parent / ".gitignore").read_text().splitlines()
    assert any(fnmatch(name, line.strip("/")) for line in ignored), script


def test_something_is_written() -> None:
    assert len(WRITTEN) > 5
