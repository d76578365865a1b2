"""Sets of ranks as people write them: `0,2-7` instead of a list of ten thousand numbers."""

from collections.abc import Iterable
from itertools import pairwise


def compact(ranks: Iterable[int]) -> str:
    """`{0, 2, 3, 4}` as `0,2-4`; the empty set as the empty text."""
    ordered = sorted(set(ranks))
    starts = ordered[:1] + [b for a, b in pairwise(ordered) if b != a + 1]
    ends = [a for a, b in pairwise(ordered) if b != a + 1] + ordered[-1:]
    spans = zip(starts, ends, strict=True)
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)


def expand(text: str) -> frozenset[int]:
    """The inverse of `compact`.

    Raises:
        ValueError: when the text is not such a set.
    """
    return frozenset(rank for span in text.split(",") if span for rank in _span(span))


def _span(span: str) -> range:
    first, _, last = span.partition("-")
    return range(int(first), int(last or first) + 1)
