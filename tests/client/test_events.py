"""Events in the order in which things happened."""

from typing import Any

import pytest

from trainingjobs.client.kinds import last_seen

AT = "2026-03-01T12:00:0{}Z"
MICRO = "2026-03-01T12:00:0{}.500000Z"


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ({"lastTimestamp": AT.format(1)}, {"lastTimestamp": None, "eventTime": MICRO.format(1)}),
        ({"eventTime": MICRO.format(1)}, {"lastTimestamp": AT.format(2)}),
        (
            {"lastTimestamp": AT.format(2)},
            {"eventTime": MICRO.format(1), "series": {"lastObservedTime": MICRO.format(3)}},
        ),
        ({}, {"eventTime": MICRO.format(0)}),
    ],
)
def test_who_tells_in_the_newer_way_is_not_the_oldest(earlier: Any, later: Any) -> None:
    assert last_seen(earlier) < last_seen(later)
