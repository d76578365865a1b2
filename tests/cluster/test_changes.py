"""What is new to whom: nobody misses a change, and nobody is told one twice."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainingjobs.cluster import changes
from trainingjobs.cluster.changes import Changes

STEPS = st.lists(
    st.tuples(st.sampled_from("pdl"), st.integers(0, 4), st.integers(0, 2)), max_size=60
)


@given(STEPS, st.integers(1, 4))
def test_whoever_looks_knows_all(steps: list[tuple[str, int, int]], room: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(changes, "_GONE", room)
        _follow(steps)


def _follow(steps: list[tuple[str, int, int]]) -> None:
    known: Changes[int] = Changes()
    there: dict[int, bytes] = {}
    seen: dict[int, bytes] = {}
    number: int | None = None
    for what, key, value in [*steps, ("l", 0, 0)]:
        if what == "p":
            known.put(key, b"%d" % value)
            there[key] = b"%d" % value
        elif what == "d":
            known.drop(key)
            there.pop(key, None)
        else:
            news = known.since(number)
            seen = dict(news.values) if news.whole else {**seen, **news.values}
            seen = {it: told for it, told in seen.items() if it not in news.gone}
            number = news.number
            assert seen == there
            assert not known.since(number).values


def test_the_same_value_is_no_change() -> None:
    known: Changes[str] = Changes()
    known.put("a", b"1")
    number = known.number
    known.put("a", b"1")
    known.drop("b")
    assert (known.number, known.since(number).values) == (number, {})


def test_those_that_are_gone_are_forgotten_in_time() -> None:
    known: Changes[int] = Changes()
    for key in range(10_000):
        known.put(key, b"")
    known.keep({3})
    assert len(known) == 1
    assert len(known._gone) == changes._GONE  # noqa: SLF001
    assert known.since(1).whole
