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


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_an_undisturbed_run_is_as_recorded(engine: Engine, scenario: str) -> None:
    run = engine.reference(scenario)
    assert not run.problems
    writes = [it for it in run.writes if CHANCE not in it]
    if "FAULTS_RECORD" in os.environ:
        found = {"writes": writes, "events": run.events}
        path = RECORDINGS / f"{scenario}.json"
        path.write_text(json.dumps(found, indent=1) + "\n")
    assert sorted(writes) == sorted(recording(scenario)["writes"])
