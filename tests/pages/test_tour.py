"""The recording of the tour is of the commands that `make tour` plays."""

import re

from website import tour


def test_the_recording_is_of_these_commands() -> None:
    told = re.findall(r"^\$ (.*)$", tour.PAGE.read_text(), re.MULTILINE)
    assert told == [step.command for step in tour.STEPS]


def test_every_command_ended_as_it_should() -> None:
    """One that fails has its exit code behind its seconds."""
    took = re.findall(r"^\*[\d.]+ s(.*)\*$", tour.PAGE.read_text(), re.MULTILINE)
    assert len(took) == len(tour.STEPS)
    assert set(took) == {""}
