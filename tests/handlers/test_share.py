"""What a look computes is measured; what it waits for is not, and errors find their way."""

import asyncio
import time

import pytest

from trainingjobs.handlers.share import Metered


async def test_waiting_is_not_counted_and_computing_is() -> None:
    async def look() -> str:
        time.sleep(0.02)  # noqa: ASYNC251 - it computes
        await asyncio.sleep(0.3)
        return "done"

    metered = Metered(look())
    assert await metered == "done"
    assert 0.02 <= metered.seconds < 0.25


async def test_an_error_is_the_looks_own() -> None:
    async def look() -> None:
        await asyncio.sleep(0)
        raise ValueError("oh")

    with pytest.raises(ValueError, match="oh"):
        await Metered(look())


async def test_a_cancelled_look_can_clean_up() -> None:
    cleaned = []

    async def look() -> None:
        try:
            await asyncio.sleep(100)
        except asyncio.CancelledError:
            cleaned.append(True)
            raise

    async def work() -> None:
        await Metered(look())

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert cleaned


async def test_a_look_may_set_itself_a_time() -> None:
    async def look() -> None:
        async with asyncio.timeout(0.01):
            await asyncio.sleep(100)

    with pytest.raises(TimeoutError):
        await Metered(look())
