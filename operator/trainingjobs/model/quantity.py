"""Kubernetes quantities, as far as threads and processes are counted with them."""

from decimal import Decimal, InvalidOperation
from typing import Any

_MOST_DIGITS = 9
_SUFFIXES = {"n": Decimal("1e-9"), "u": Decimal("1e-6"), "m": Decimal("1e-3"), "k": Decimal(1000)}


def number(quantity: Any) -> Decimal:
    """`"500m"` as 0.5, `2` as 2; 0 for what is none, which the API server refuses anyway.

    So does what no machine has: a number of a million digits would be counted for a minute.
    """
    text = str(quantity)
    factor = _SUFFIXES.get(text[-1:], Decimal(1))
    digits = text[:-1] if text[-1:] in _SUFFIXES else text
    try:
        value = Decimal(digits) * factor
    except InvalidOperation:
        return Decimal(0)
    return value if value.is_finite() and value.adjusted() < _MOST_DIGITS else Decimal(0)
