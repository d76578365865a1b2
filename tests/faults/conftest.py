"""What the fault tests share: an API server, and an engine that has begun with all chosen cases."""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from faults.cases import Case, seed, shuffled
from faults.engine import Engine, Lanes, Result
from integration.conftest import apiserver
from integration.server import ApiServer

if TYPE_CHECKING:
    from concurrent.futures import Future

__all__ = ["apiserver"]

WHOLE = "faults"
SHORT_LANES = Lanes(shared=10, killed=3)
WHOLE_LANES = Lanes(shared=16, killed=4, patient=8)
SECONDS = 690.0


@pytest.fixture(scope="session")
def engine(
    apiserver: ApiServer, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Engine]:
    """The engine; how long it may take is FAULTS_SECONDS."""
    whole = WHOLE in request.config.getoption("markexpr")
    seconds = float(os.environ.get("FAULTS_SECONDS", SECONDS))
    engine = Engine(apiserver, tmp_path_factory.mktemp("faults"), seconds)
    try:
        engine.start(WHOLE_LANES if whole else SHORT_LANES)
        yield engine
    finally:
        engine.stop()


@pytest.fixture(scope="session")
def result(engine: Engine, request: pytest.FixtureRequest) -> Callable[[Case], Result]:
    """The result of a case; all cases of this session run at once."""
    params = (getattr(item, "callspec", None) for item in request.session.items)
    cases = [it.params["case"] for it in params if it is not None and "case" in it.params]
    futures: dict[Case, Future[Result]] = engine.submit(shuffled(cases))
    return lambda case: futures[case].result()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Which faults were injected, and how to have the same again: what comes first is chance."""
    reports = terminalreporter.stats.get("passed", [])
    cases = [it.nodeid for it in reports if it.when == "call" and "test_faults.py::" in it.nodeid]
    if not cases:
        return
    kinds = Counter(case.rstrip("]").rpartition("-")[2] for case in cases)
    terminalreporter.section(f"faults: {len(cases)}, FAULTS_SEED={seed()}")
    terminalreporter.line(", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items())))
