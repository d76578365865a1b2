"""A collector of reports, and a pod's folder to start processes in, for every test."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from reporter import collector, interpreters, pods


@pytest.fixture
def operator() -> Iterator[collector.Collector]:
    with collector.collecting() as made:
        yield made


@pytest.fixture
def pod(tmp_path: Path, operator: collector.Collector) -> Iterator[pods.Pod]:
    """Processes of this interpreter."""
    with pods.pod(tmp_path, operator.url) as made:
        yield made


@pytest.fixture(scope="session")
def torch_python(tmp_path_factory: pytest.TempPathFactory) -> Sequence[str]:
    return interpreters.with_torch(tmp_path_factory.mktemp("torch"))


@pytest.fixture
def torch_pod(
    tmp_path: Path, operator: collector.Collector, torch_python: Sequence[str]
) -> Iterator[pods.Pod]:
    """Processes of an interpreter that has torch."""
    with pods.pod(tmp_path, operator.url, torch_python) as made:
        yield made
