"""Whatever happens to one write or one watch event, a job comes to the same end."""

from collections.abc import Callable

import pytest

from faults.cases import Case, chosen, every, long
from faults.engine import Result

pytestmark = [pytest.mark.faults, pytest.mark.integration, pytest.mark.timeout(1200)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """All cases where they were asked for, with the long ones; else a few of each kind."""
    if "case" in metafunc.fixturenames:
        whole = "faults" in metafunc.config.getoption("markexpr")
        cases = [*long(), *every()] if whole else chosen()
        metafunc.parametrize("case", cases, ids=[case.id for case in cases])


def test_a_job_comes_to_the_same_end(case: Case, result: Callable[[Case], Result]) -> None:
    found = result(case)
    if found.skipped:
        pytest.skip(found.skipped)
    assert not found.problems, "\n".join(found.problems)
