"""Other programs' last words, fit for a status."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainingjobs.cluster.words import last_lines


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, ""),
        ("", ""),
        ("boom", "boom"),
        ("a\r\nb\r\n", "a\nb"),
        (" 10%|#\r 20%|##\r 30%|###", " 10%|#\n 20%|##\n 30%|###"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("tab\there\x00\x07", "tab here"),
        ("half a \ud83d character", "half a  character"),
        ("Größe 大小", "Größe 大小"),
        ("rm \u202etxt.exe\u2066", "rm txt.exe"),
        ("un\u200bseen\ufeff \U000e0041\U000e0042 tags", "unseen  tags"),
        ("\x1b]8;;http://evil.test\x07link\x1b]8;;\x07", "link"),
        ("\x9b31mred \x9d0;title\x9c", "31mred 0;title"),
    ],
)
def test_what_is_left_of_it(text: str | None, said: str) -> None:
    assert last_lines(text) == said


def test_the_end_is_kept_from_the_start_of_a_line() -> None:
    text = "\n".join(f"line {number}" for number in range(1000))
    assert last_lines(text, 30) == "line 997\nline 998\nline 999"


def test_one_endless_line_is_cut_on_a_character() -> None:
    assert last_lines("ö" * 50, 10) == "ö" * 10


@given(st.text(), st.integers(min_value=1, max_value=50))
def test_it_is_always_short_and_printable(text: str, limit: int) -> None:
    said = last_lines(text, limit)
    assert len(said) <= limit
    assert all(line.isprintable() for line in said.split("\n"))
    said.encode()
