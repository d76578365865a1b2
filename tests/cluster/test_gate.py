"""What many ask for together costs the operator a bounded part of its time and of its memory."""

import asyncio

from handlers.instant import run
from trainingjobs.cluster.gate import BusyError, Ration
from trainingjobs.cluster.memo import Bounded, Memo

PARTS = 20.0
WORK = 0.1


def now() -> float:
    return asyncio.get_running_loop().time()


async def _work(ration: Ration) -> float | None:
    try:
        await ration.turn()
    except BusyError as error:
        return error.seconds
    ration.spent(WORK)
    return None


def test_work_gets_its_part_of_the_time_however_many_ask() -> None:
    async def scenario() -> None:
        ration = Ration(PARTS, now)
        started, sent_away = now(), []
        for _ in range(10):
            answers = await asyncio.gather(*[_work(ration) for _ in range(50)])
            sent_away += [it for it in answers if it is not None]
        done = 500 - len(sent_away)
        passed = now() - started
        assert passed / (PARTS * WORK) - 1 <= done <= passed / (PARTS * WORK) + 1
        assert done > 10
        assert all(0 < seconds <= PARTS * WORK for seconds in sent_away)

    run(scenario())


def test_whoever_comes_alone_does_not_wait() -> None:
    async def scenario() -> None:
        ration = Ration(PARTS, now)
        for _ in range(3):
            before = now()
            assert await _work(ration) is None
            assert now() == before
            await asyncio.sleep(PARTS * WORK)

    run(scenario())


def test_memory_is_bounded_by_what_things_weigh() -> None:
    known: Bounded[str, bytes] = Bounded(10, len)
    known.put("a", bytes(4))
    known.put("b", bytes(4))
    known.put("a", bytes(6))
    assert [len(known.get(it) or b"") for it in "ab"] == [6, 4]
    known.put("c", bytes(1))
    assert [known.get(it) is None for it in "abc"] == [True, False, False]
    known.put("d", bytes(11))
    assert len(known) == 0
    known.put("e", bytes(10))
    assert known.get("e") == bytes(10)


def test_what_is_too_heavy_to_be_kept_is_told_all_the_same() -> None:
    async def scenario() -> None:
        memo: Memo[str, bytes] = Memo(10, now, len)

        async def ask() -> tuple[bytes, float]:
            return bytes(100), 60

        assert await memo.get("a", ask) == bytes(100)
        assert len(memo) == 0

    run(scenario())
