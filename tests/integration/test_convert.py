"""Converted jobs are what a real API server takes, with every rule of the resource definition."""

from pathlib import Path

import pytest

from convert.valid import jobs_in
from integration.jobs import Jobs

pytestmark = pytest.mark.integration
OUTPUTS = sorted((Path(__file__).parents[1] / "convert" / "outputs").glob("*.yaml"))


@pytest.mark.parametrize("path", OUTPUTS, ids=[path.stem for path in OUTPUTS])
def test_the_api_server_takes_it(jobs: Jobs, path: Path) -> None:
    (job,) = jobs_in(path.read_text())
    job["metadata"].pop("namespace", None)
    answer = jobs.try_create(job)
    assert answer.accepted, answer.body
