"""Helm for the tests of the chart."""

import pytest

from chart import rendering


@pytest.fixture(scope="session")
def helm(tmp_path_factory: pytest.TempPathFactory) -> rendering.Helm:
    """Helm with a home of its own; the first run on a machine builds it."""
    return rendering.helm(tmp_path_factory.mktemp("helm"))
