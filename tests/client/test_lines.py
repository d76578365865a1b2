"""A log that is read again and again gives every line once."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainingjobs.client.lines import Line, Memory, Splitter, parsed


@pytest.mark.parametrize(
    ("raw", "line"),
    [
        (
            "2026-03-01T12:00:00.5Z step 1",
            Line("2026-03-01T12:00:00.500000000Z", "step 1"),
        ),
        (
            "2026-03-01T14:00:00.123456789+02:00 two  spaces",
            Line("2026-03-01T12:00:00.123456789Z", "two  spaces"),
        ),
        ("2026-03-01T12:00:00Z ", Line("2026-03-01T12:00:00.000000000Z", "")),
        ("failed to open log file", Line("", "failed to open log file")),
    ],
)
def test_a_line_has_its_time_in_one_form(raw: str, line: Line) -> None:
    assert parsed(raw) == line


def test_lines_end_at_their_ends_alone() -> None:
    splitter = Splitter()
    found = [
        line for part in (b"10%\r20", b"%\n\x0bnext", b"\n ta") for line in splitter.lines(part)
    ]
    assert found == ["10%\r20%", "\x0bnext"]
    assert list(splitter.last()) == [" ta"]
    assert list(splitter.last()) == []


def a_log(moments: list[int], words: list[str]) -> list[Line]:
    """Lines, tenths of a second apart or at one moment."""
    return [
        Line(f"2026-03-01T12:00:{moment // 10:02}.{moment % 10}00000000Z", word)
        for moment, word in zip(sorted(moments), words, strict=False)
    ]


def served(log: list[Line], since: str) -> list[Line]:
    """What a kubelet sends: everything from a whole second on."""
    return [line for line in log if line.stamp >= since[:19]]


@given(
    st.lists(st.integers(0, 120), max_size=40),
    st.lists(st.sampled_from(["a", "b"]), min_size=40, max_size=40),
    st.integers(0),
)
def test_no_line_is_lost_or_doubled(moments: list[int], words: list[str], seed: int) -> None:
    """However often the stream breaks, and however much was written by then."""
    chance = random.Random(seed)  # noqa: S311
    log = a_log(moments, words)
    memory, got, written = Memory(), [], 0
    while True:
        memory.reopen()
        written = chance.randint(written, len(log))
        stream = served(log[:written], memory.since)
        whole = written == len(log) and chance.random() < 0.5
        broken = len(stream) if whole else chance.randint(0, len(stream))
        got += [line for line in stream[:broken] if memory.is_new(line)]
        if whole:
            break
    assert got == log


@given(st.lists(st.integers(0, 60), max_size=40, unique=True), st.integers(0, 5), st.integers(0))
def test_what_a_tail_has_left_out_stays_out(moments: list[int], tail: int, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    log = a_log(moments, ["a"] * 40)
    written = chance.randint(0, len(log))
    begin = max(written - tail, 0)
    memory = Memory(tailed=True)
    memory.reopen()
    got = [line for line in log[begin:] if memory.is_new(line)]
    assert got == log[begin:]
    for _ in range(3):
        memory.reopen()
        if memory.since:
            assert not [line for line in served(log, memory.since) if memory.is_new(line)]
