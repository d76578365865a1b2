"""A volume of the programs for each test, and nothing left running after it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from launch.given import Pods


@pytest.fixture
def pods(tmp_path: Path) -> Iterator[Pods]:
    made = Pods(tmp_path)
    yield made
    made.end()
