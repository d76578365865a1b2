"""What a template's texts say of a group that is not there, at the cost of one look at each."""

import time
from typing import Any

from trainingjobs.convert import traces


def _notes(argument: str, job: str = "x") -> list[Any]:
    container = {"name": "trainer", "args": [argument]}
    return traces.notes({"spec": {"containers": [container]}}, job, "template", counted=True)


def test_the_names_of_the_old_pods_are_told() -> None:
    assert [note.why for note in _notes("--host=mnist-worker-12", "mnist")] == [
        "there is no mnist-worker-12 here"
    ]
    assert _notes("--data=/data/mnist", "mnist") == []


def test_a_long_text_costs_what_its_length_is_worth() -> None:
    began = time.process_time()
    _notes("x-" * 100_000)
    assert time.process_time() - began < 10
