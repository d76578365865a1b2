"""A time in which nobody was heard is remembered: the silence of some says little after it."""

import pytest

from builders import at, heard
from trainingjobs.cluster.sheets import Sheet

TIMES = {
    "all report in time": ([0, 1, 5, 6, 10], None),
    "one report is lost": ([0, 5, 15], None),
    "nobody is heard for a while": ([0, 5, 26, 27, 32], 26),
    "twice": ([0, 26, 27, 60, 61], 60),
}


@pytest.mark.parametrize(("times", "deaf"), TIMES.values(), ids=TIMES)
def test_who_was_deaf_knows_until_when(times: list[float], deaf: float | None) -> None:
    sheet = Sheet(1)
    for number, time in enumerate(times):
        sheet.put(heard(number % 2, received=time), 100)
    assert sheet.roll.deaf_until == (None if deaf is None else at(deaf))
