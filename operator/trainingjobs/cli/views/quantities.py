"""Kubernetes' quantities as numbers: `500m`, `4Gi`, `1e3`."""

import re
from decimal import Decimal

_FORM = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:[eE]([+-]?\d{1,2})|([numkMGTPE]|[KMGTPE]i))?")
_TENS = {name: Decimal(10) ** (3 * power) for power, name in enumerate("num kMGTPE", -3)}
_TWOS = {f"{name}i": Decimal(2) ** (10 * power) for power, name in enumerate("KMGTPE", 1)}
_FACTORS = {**_TENS, **_TWOS}


def parsed(text: str) -> Decimal | None:
    """The number; None for what the API server would not take."""
    found = _FORM.fullmatch(text.strip())
    if found is None:
        return None
    digits, exponent, suffix = found.groups()
    factor = Decimal(10) ** int(exponent) if exponent else _FACTORS[suffix or " "]
    return Decimal(digits) * factor


def quantity(text: object) -> Decimal:
    """What the cluster says, as a number; 0 where it says nothing."""
    return parsed(str(text or 0)) or Decimal(0)
