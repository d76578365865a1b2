"""How far the training is, in a column of a few characters and in numbers that keep still."""

import math
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trainingjobs.model.finding import Headway
from trainingjobs.model.training import Training
from trainingjobs.status import headway

GOES = Headway(step=20, total=50, rate=2.0, epoch=1.5, metrics=(("loss", 0.01234567),), told=True)


def test_what_is_told_of_a_training() -> None:
    assert headway.training(None, GOES, steps=True) == Training(
        step=20,
        counted_by="Script",
        total_steps=50,
        steps_per_second="2",
        eta_seconds=15,
        epoch="1.5",
        metrics={"loss": "0.01235"},
    )


@pytest.mark.parametrize(
    ("training", "words"),
    [
        (None, None),
        (Training(step=0), "step 0"),
        (Training(step=1200), "step 1200"),
        (Training(step=9_999_999), "step 9999999"),
        (Training(step=12_345_678), "step 12.35M"),
        (Training(step=0, total_steps=50), "0%"),
        (Training(step=20, total_steps=50), "40%"),
        (Training(step=2999, total_steps=3000), "99%"),
        (Training(step=50, total_steps=50), "100%"),
        (Training(step=51, total_steps=50), "100%"),
        (Training(step=7, total_steps=0), "step 7"),
    ],
)
def test_progress_fits_its_column(training: Training | None, words: str | None) -> None:
    assert headway.progress(training) == words
    assert len(words or "") <= 12


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.0, "0"),
        (3.2, "3.2"),
        (0.0123, "0.0123"),
        (1 / 3, "0.3333"),
        (2.5e-7, "2.5e-07"),
        (1234.56, "1235"),
        (123456.7, "123457"),
        (1e300, "1e+300"),
        (-2.5, "-2.5"),
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
    ],
)
def test_numbers_are_short_texts(value: float, words: str) -> None:
    assert headway.number(value) == words


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    st.integers(min_value=0, max_value=2**53),
    st.none() | st.integers(min_value=0, max_value=2**53),
    st.none() | st.floats(min_value=0, max_value=1e9),
    st.floats(),
)
def test_whatever_is_reported_fits(
    step: int, total: int | None, rate: float | None, loss: float
) -> None:
    known = Headway(step=step, total=total, rate=rate, epoch=1e9, metrics=(("loss", loss),) * 99)
    told = headway.training(None, known, steps=True)
    assert told is not None
    assert Training.model_validate(told.model_dump(by_alias=True)) == told
    assert len(told.metrics["loss"]) <= 12
    assert (told.eta_seconds or 0) < 2**31


def test_what_stands_still_keeps_its_rate_until_it_stalls() -> None:
    old = headway.training(None, GOES, steps=True)
    assert headway.training(old, replace(GOES, rate=0.1), steps=True) is old
    stalled = headway.training(old, replace(GOES, rate=0.1), steps=False)
    assert stalled is not None
    assert (stalled.step, stalled.steps_per_second, stalled.eta_seconds) == (20, None, None)


@pytest.mark.parametrize(
    "change", [{"step": 21}, {"total": 60}, {"epoch": 2.0}, {"metrics": (("loss", 1.0),)}]
)
def test_what_moves_is_told_with_its_rate(change: dict[str, object]) -> None:
    old = headway.training(None, GOES, steps=True)
    new = headway.training(old, replace(GOES, rate=4.0, **change), steps=True)  # type: ignore[arg-type]
    assert new is not None
    assert new.steps_per_second == "4"


def test_the_last_word_stays_while_nothing_is_heard() -> None:
    old = headway.training(None, GOES, steps=True)
    assert headway.training(old, None, steps=True) is old
    assert headway.training(None, None, steps=False) is None
