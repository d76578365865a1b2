"""Lines of ranks as people and programs get them."""

import pytest
from click import BadParameter

from trainingjobs.cli.commands.logs import Ranks
from trainingjobs.cli.views.loglines import Look
from trainingjobs.client.lines import LogLine

TIME = "2026-03-01T12:00:00.500000000Z"


def a_line(text: str, rank: int = 1) -> LogLine:
    return LogLine(rank=rank, attempt=1, pod="mnist-worker-0", time=TIME, text=text)


@pytest.mark.parametrize(
    ("look", "text", "shown"),
    [
        (Look(), "\x1b[2J raw\r", "\x1b[2J raw\r"),
        (Look(width=2), "hello", "[ 1] hello"),
        (Look(timestamps=True), "hello", f"{TIME} hello"),
        (Look(terminal=True), "\x1b[2J\x1b[31mred\x1b[0m\tx", "\\x1b[2Jred\tx"),
        (Look(terminal=True), "10%\r20%\r", "20%"),
        (Look(terminal=True), "", ""),
        (Look(terminal=True, coloured=True), "\x1b[31mred", "\x1b[31mred\x1b[0m"),
        (Look(width=1, terminal=True, coloured=True), "x", "\x1b[35m[1]\x1b[0m x"),
    ],
    ids=["data", "rank", "time", "codes", "progress", "empty", "colours", "rank in colour"],
)
def test_a_line(look: Look, text: str, shown: str) -> None:
    assert look.line(a_line(text)) == shown


@pytest.mark.parametrize(("text", "found"), [("0", {0}), ("0,2-4", {0, 2, 3, 4})])
def test_ranks(text: str, found: set[int]) -> None:
    assert Ranks().convert(text, None, None) == found


@pytest.mark.parametrize("text", ["", "x", "1-", "3-1", "0-99999999999", ",", "-1"])
def test_no_ranks(text: str) -> None:
    with pytest.raises(BadParameter, match="is no set of ranks"):
        Ranks().convert(text, None, None)
