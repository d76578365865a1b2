"""The API server that all integration tests share, with our resource definition in it."""

import itertools
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from integration.jobs import Body, Jobs, a_job
from integration.server import ApiServer, api_server

CRDS = Path(__file__).parents[2] / "crds"
_NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def apiserver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """A real API server that knows TrainingJobs, put there as a user would."""
    with api_server(tmp_path_factory.mktemp("apiserver")) as server:
        applied = server.kubectl("apply", "-f", str(CRDS))
        assert applied.returncode == 0, applied.stderr
        _wait_until_served(server)
        yield server


def _wait_until_served(server: ApiServer) -> None:
    """Not `kubectl wait`, which fails on a definition whose status is still empty."""
    for _ in range(300):
        if server.kubectl("get", "--raw", "/apis/trainingjob.dev/v1/trainingjobs").returncode == 0:
            return
        time.sleep(0.1)
    raise TimeoutError("the API server does not serve trainingjobs")


@pytest.fixture(scope="session")
def jobs(apiserver: ApiServer) -> Iterator[Jobs]:
    """The jobs on that server."""
    jobs = Jobs(apiserver)
    yield jobs
    jobs.close()


@pytest.fixture
def stored(jobs: Jobs) -> Iterator[Callable[..., Body]]:
    """Makes jobs that stand on the server until the test ends."""
    names: list[str] = []

    def store(**spec: Any) -> Body:
        names.append(f"stored-{next(_NUMBERS)}")
        return jobs.create(a_job(names[-1], **spec))

    yield store
    for name in names:
        jobs.delete(name)
