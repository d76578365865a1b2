"""What one candidate concludes from a Lease: its own clock counts, and nobody else's."""

from datetime import UTC, datetime
from typing import Any

import pytest

from trainingjobs.model import lease

TODAY = datetime(2026, 3, 1, 12, tzinfo=UTC)
LONG_AGO = "1999-01-01T00:00:00.000000Z"


def record(holder: str = "other_1", **says: Any) -> dict[str, Any]:
    """A Lease as the API server shows it."""
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 10, "renewTime": LONG_AGO, **says}
    return {"metadata": {"name": "lead", "resourceVersion": "7"}, "spec": spec}


def test_the_leader_stops_before_another_begins() -> None:
    assert lease.TERMS.deadline + 2 <= lease.TERMS.duration
    assert lease.TERMS.duration + 2 * lease.TERMS.ask <= 15


@pytest.mark.parametrize(
    ("found", "now", "free"),
    [
        pytest.param(record(), 100.0, False, id="just seen, whatever time it names"),
        pytest.param(record(), 109.9, False, id="not seen for long enough"),
        pytest.param(record(), 110.0, True, id="not renewed for its whole time"),
        pytest.param(record(leaseDurationSeconds=60), 159.0, False, id="a patient holder"),
        pytest.param(record("me_1"), 100.0, True, id="our own"),
        pytest.param(record("me_2"), 100.0, True, id="of the process that was in this pod before"),
        pytest.param(record("me-2_1"), 100.0, False, id="of another pod"),
        pytest.param(record(""), 100.0, True, id="released"),
        pytest.param(None, 100.0, True, id="there was never one"),
    ],
)
def test_who_may_take_it(found: Any, now: float, free: bool) -> None:
    assert lease.vacant(lease.seen(None, found, 100.0), "me_1", now) is free


def test_a_record_that_changes_starts_its_time_anew() -> None:
    first = lease.seen(None, record(), 100.0)
    again = lease.seen(first, record(), 105.0)
    renewed = lease.seen(again, record(renewTime="1999-01-01T00:00:02.000000Z"), 108.0)
    assert (again.since, renewed.since) == (100.0, 108.0)


def test_a_lease_that_was_deleted_is_still_its_holders_for_its_time() -> None:
    gone = lease.seen(lease.seen(None, record(), 100.0), None, 101.0)
    assert gone.lease is None
    assert not lease.vacant(gone, "me_1", 109.0)
    assert lease.vacant(gone, "me_1", 110.0)


def test_the_next_look_is_not_later_than_the_end() -> None:
    found = lease.seen(None, record(), 100.0)
    assert lease.wait(found, 100.0) == lease.TERMS.ask
    assert lease.wait(found, 109.5) == pytest.approx(0.51)
    assert lease.wait(found, 120.0) == lease.TERMS.ask


def test_what_a_claim_says() -> None:
    taken = lease.claimed(lease.seen(None, record(leaseTransitions=3), 0), "me_1", TODAY)
    assert taken == {
        "holderIdentity": "me_1",
        "leaseDurationSeconds": 10,
        "acquireTime": "2026-03-01T12:00:00.000000Z",
        "renewTime": "2026-03-01T12:00:00.000000Z",
        "leaseTransitions": 4,
    }
    mine = record("me_1", acquireTime=LONG_AGO, leaseTransitions=4)
    renewed = lease.claimed(lease.seen(None, mine, 0), "me_1", TODAY)
    assert (renewed["acquireTime"], renewed["leaseTransitions"]) == (LONG_AGO, 4)


def test_a_released_one_is_free_at_once() -> None:
    given = lease.released(lease.seen(None, record("me_1"), 0), TODAY)
    assert lease.vacant(lease.seen(None, {"spec": given}, 0.0), "other_1", 0.0)


def test_the_pod_of_a_holder() -> None:
    assert lease.pod_of(lease.identity("operator-0", "ab12")) == "operator-0"
    assert lease.pod_of("") == ""
