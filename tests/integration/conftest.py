"""The API server that all integration tests share, with our resource definition in it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.server import ApiServer, api_server

CRDS = Path(__file__).parents[2] / "crds"


@pytest.fixture(scope="session")
def apiserver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """A real API server that knows TrainingJobs, put there as a user would."""
    with api_server(tmp_path_factory.mktemp("apiserver")) as server:
        applied = server.kubectl("apply", "-f", str(CRDS))
        assert applied.returncode == 0, applied.stderr
        waited = server.kubectl("wait", "--for=condition=Established", "crd", "--all")
        assert waited.returncode == 0, waited.stderr
        yield server
