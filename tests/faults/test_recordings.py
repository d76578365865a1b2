"""The recordings that cases are made from are what an undisturbed operator does.

After a change of what the operator writes: FAULTS_RECORD=1 pytest -m integration on this file.
"""

import json
import os

import pytest

from faults.cases import RECORDINGS, recording
from faults.engine import Engine
from faults.scenarios import SCENARIOS

pytestmark = pytest.mark.integration

CHANCE = "counts"
"""Numbers alone are written as time allows: no case is made of these writes."""


TRIES = 3
"""On a busy machine two changes may come as one, or a second look before the first is over."""


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_an_undisturbed_run_is_as_recorded(engine: Engine, scenario: str) -> None:
    if "FAULTS_RECORD" in os.environ:
        writes, events = lived(engine, scenario)
        path = RECORDINGS / f"{scenario}.json"
        path.write_text(json.dumps({"writes": writes, "events": events}, indent=1) + "\n")
    wanted = sorted(recording(scenario)["writes"])
    runs = (sorted(lived(engine, scenario)[0]) for _ in range(TRIES))
    last: list[str] = []
    assert any((last := run) == wanted for run in runs), set(last) ^ set(wanted)


def lived(engine: Engine, scenario: str) -> tuple[list[str], list[str]]:
    """The writes and the events of a life without a fault."""
    run = engine.reference(scenario)
    engine.forget(scenario)
    assert not run.problems
    return [it for it in run.writes if CHANCE not in it], run.events
