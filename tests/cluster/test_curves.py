"""Curves of how a training went: true, bounded, and broken where there was no number."""

from itertools import pairwise
from typing import Any

from trainingjobs.cluster import curves
from trainingjobs.cluster.curves import Curve, Curves


def training(step: int, **metrics: str) -> dict[str, Any]:
    return {"step": step, "stepsPerSecond": "2.5", "metrics": metrics}


def a_body(uid: str, step: int = 1, **status: Any) -> dict[str, Any]:
    return {"metadata": {"uid": uid}, "status": {"training": training(step), **status}}


def test_a_curve_is_what_was_told() -> None:
    curve = Curve()
    curve.note(1.0, training(10, loss="0.5"))
    curve.note(2.0, training(20, loss="NaN", accuracy="0.9"))
    assert curve.told() == {
        "columns": ["step", "rate", "loss", "accuracy"],
        "rows": [[1.0, 10.0, 2.5, 0.5, None], [2.0, 20.0, 2.5, None, 0.9]],
    }


def test_a_long_one_is_thinned_and_keeps_its_span() -> None:
    curve = Curve()
    for point in range(100_000):
        curve.note(float(point), training(point))
    rows = curve.told()["rows"]
    assert curves.POINTS / 2 <= len(rows) <= curves.POINTS
    assert rows[0][0] < 1_000
    assert rows[-1][0] > 98_000
    gaps = {round(b[0] - a[0]) for a, b in pairwise(rows)}
    assert max(gaps) <= 2 * min(gaps)


def test_what_it_holds_is_bounded() -> None:
    curve = Curve()
    curve.note(1.0, training(1, **{f"metric-{number}": "1" for number in range(50)}))
    assert len(curve.names) == curves.METRICS
    known = Curves()
    known.note(1.0, [a_body(f"uid-{number}") for number in range(3 * curves.JOBS)])
    assert len(known) == curves.JOBS
    assert known.told("uid-0")["rows"] == [[1.0, 1.0, 2.5]]
    assert known.told(f"uid-{3 * curves.JOBS - 1}")["rows"] == []


def test_one_job_too_many_takes_nobodys_curve() -> None:
    known, names = Curves(), [f"uid-{number}" for number in range(curves.JOBS + 1)]
    for point in range(20):
        known.note(float(point), [a_body(name, point) for name in names])
    lengths = [len(known.told(name)["rows"]) for name in names]
    assert lengths == [20] * curves.JOBS + [0]


def test_who_is_over_makes_room_and_who_is_gone_is_forgotten() -> None:
    known, names = Curves(), [f"uid-{number}" for number in range(curves.JOBS)]
    known.note(1.0, map(a_body, names))
    over = [a_body(name, completionTime="2026-03-01T12:00:00Z") for name in names[:2]]
    there = [*over, *map(a_body, names[2:])]
    known.note(2.0, there)
    assert len(known.told(names[0])["rows"]) == 1  # as long as nobody needs the room
    known.note(3.0, [a_body("new"), *there])
    assert [len(known.told(it)["rows"]) for it in (names[0], names[1], "new")] == [0, 1, 1]
    known.note(4.0, [a_body("new")])
    assert len(known) == 1


def test_what_is_over_or_tells_nothing_is_left() -> None:
    known = Curves()
    known.note(
        1.0, [a_body("a", completionTime="2026-03-01T12:00:00Z"), {"metadata": {"uid": "b"}}]
    )
    assert len(known) == 0
