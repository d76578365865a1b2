"""Ranks' lines in the order of time."""

from collections.abc import AsyncGenerator

import pytest

from trainingjobs.client.lines import LogLine
from trainingjobs.client.merge import merged

CLOSED: list[int] = []


async def stream(rank: int, *times: str) -> AsyncGenerator[LogLine, None]:
    try:
        for time in times:
            yield LogLine(rank=rank, attempt=1, pod="", time=time, text=time)
    finally:
        CLOSED.append(rank)


@pytest.mark.parametrize(
    ("logs", "shown"),
    [
        ([], []),
        ([()], []),
        ([("1", "4"), ("2", "3", "5")], ["0:1", "1:2", "1:3", "0:4", "1:5"]),
        ([("3", "", "4"), ("2", "5")], ["1:2", "0:3", "0:", "0:4", "1:5"]),
        ([("3", "1"), ("2",)], ["1:2", "0:3", "0:1"]),
    ],
    ids=["nobody", "silence", "two", "a line without a time", "a rank's own order stays"],
)
async def test_merged(logs: list[tuple[str, ...]], shown: list[str]) -> None:
    streams = [stream(rank, *times) for rank, times in enumerate(logs)]
    assert [f"{line.rank}:{line.text}" async for line in merged(streams)] == shown


async def test_who_has_seen_enough_leaves_nothing_open() -> None:
    CLOSED.clear()
    lines = merged([stream(0, "1", "2"), stream(1, "3")])
    assert (await anext(lines)).text == "1"
    await lines.aclose()
    assert CLOSED == [0, 1]
